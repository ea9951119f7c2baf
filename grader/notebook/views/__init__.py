"""What a notebook shows for each answer: HTML there, text at a terminal. May import records, words, render
and what an errand brought back; nothing here runs a student's code."""
