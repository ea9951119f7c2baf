"""How long a kernel takes, measured in turns or modelled, and what follows for a target. May import the spec,
records, the answers and the devices."""
