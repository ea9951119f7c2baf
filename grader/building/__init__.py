"""A submitted file, compiled behind walls for the devices it will run on. May import common, and nothing
that runs a kernel."""
