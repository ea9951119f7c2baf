"""One submission from its source to its record, through the stages. May import the spec, the devices and the
timing, and nothing that renders."""
