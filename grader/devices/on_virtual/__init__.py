"""Sessions on the virtual GPU. May import what `grader.devices` holds beside it."""
