"""Records and reports for people: terminal, pages, tables. Nothing here decides a point."""
