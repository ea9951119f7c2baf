"""Times that the cost model gives, and how far off it may be. May import what `grader.timing` holds."""
