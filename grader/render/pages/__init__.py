"""Records as self-contained HTML pages. May import records, words and the rest of render."""
