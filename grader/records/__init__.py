"""Records of gradings as plain data, and the comparison of repeated ones. May import the core and the
words."""
