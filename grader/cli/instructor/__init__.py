"""The verbs that an instructor uses: each module parses a command line, has the work done, and prints."""
