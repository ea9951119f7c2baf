"""Judges one task, the exercise's own or a step's: its cases, findings, mechanisms and points. May import
what the pipeline may, and no stage."""
