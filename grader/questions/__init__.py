"""Grades answers to questions of every kind, from a notebook or a file, and finds the right answers. May
import the spec, the words, records, and the action that profiles a call."""
