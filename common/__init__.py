"""What the grader and the exercises share: the build, the devices, and the virtual GPU."""
