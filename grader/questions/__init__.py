"""Grades answers to questions of every kind, given in a notebook or in a file, and finds the right ones. May
import the spec, the words, records, and the action that profiles a call."""
