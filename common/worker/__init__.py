"""The process that loads a student's code, on any device, and the parent's side of it. May import the core
and the walls; the scripts, which run in that process, import nothing of this repository."""
