"""Kernels of an exercise over its bench shapes, for instructors and for the model. May import the devices,
the timing and the build of a submission."""
