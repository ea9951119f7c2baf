"""What the grader and the exercises share: the build, the devices, and the virtual GPU. May import nothing of
the grader."""
