"""Decides whether a kernel may replace the baseline, by measurements and criteria, with reasons. May
import the pipeline, and the packages that measure: the bench, the search, the timing."""
