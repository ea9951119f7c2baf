"""Many submissions at once: finds them, grades them in parallel, compares their text. May import records and
the registry; the pipeline runs in its own process."""
