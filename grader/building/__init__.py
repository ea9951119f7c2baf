"""Compiles a submitted file in a sandbox for the devices it will run on. May import common, and nothing that
runs a kernel."""
