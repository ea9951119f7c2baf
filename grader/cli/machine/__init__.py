"""The verbs about the machine and the course's own tests, and the browser that some of those need. May import
everything."""
