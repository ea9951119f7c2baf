"""Questions that a student answers in a notebook or in a file, and what their answers are held against. May
import the spec, the words, records, and the action that profiles a call."""
