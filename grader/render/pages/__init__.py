"""Records as HTML pages that need nothing from elsewhere. May import records, words and the rest of
render."""
