"""How long people wait: a student for the answer to an edit, an instructor for a class."""
