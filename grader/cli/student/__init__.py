"""The verbs that a student uses: each module parses a command line, calls the action, and prints.
May import everything."""
