"""Labs: small kernels with a fault each, and the sheet on which a student says what it is. May import the
spec, the build of a submission, devices and timing."""
