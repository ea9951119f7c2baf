"""Numbers and strangers' words as text that a person can read. May import the standard library alone."""
