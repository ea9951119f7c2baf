"""The course on a machine: its environment, its settings, its starters, a student's own folder. May import
the spec and records."""
