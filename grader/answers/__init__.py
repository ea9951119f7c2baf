"""Whether what a call left in memory is right, and where and how it is not. May import the spec and the
words, and nothing that runs a kernel."""
