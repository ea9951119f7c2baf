"""The test suite; a package so that tests and recorders can share what they know of the programs."""
