"""What changes during a term: due dates, extensions, dropped questions, hand-given points, and which points
and pages follow from that. May import the rest of this package, and what this package may import."""
