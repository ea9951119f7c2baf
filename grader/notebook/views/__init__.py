"""What a notebook shows for each result: HTML in a notebook, text at a terminal. May import records, words,
render and answers of the grader process; nothing here runs a student's code."""
