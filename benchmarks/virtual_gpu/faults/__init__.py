"""Programs with one mistake each, what the virtual GPU finds in them, and compute-sanitizer beside it."""
