"""The verbs that an instructor uses: each module parses a command line, calls the action, and prints.
May import everything."""
