"""What a grading leaves behind, as plain data, and whether a repeated one came out the same. May import the
core and the words."""
