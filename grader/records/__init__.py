"""Records of gradings as data, and the comparison of repeated ones. May import the core and the words."""
