"""The verbs that a student uses: each module parses a command line, has the work done, and prints."""
