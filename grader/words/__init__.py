"""Numbers and untrusted text made readable. May import only the standard library."""
