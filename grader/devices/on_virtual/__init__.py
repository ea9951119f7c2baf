"""Sessions on the virtual GPU. May import the other modules of `grader.devices`."""
