"""Whether the memory after a call is right, and where and how it differs. May import the spec and the words,
and nothing that runs a kernel."""
