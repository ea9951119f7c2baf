"""Kernel times, measured by interleaved timing or modelled, and decisions about targets. May import the spec,
records, the answers and the devices."""
