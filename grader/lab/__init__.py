"""Labs: small kernels with one fault each, and the sheet on which a student names it. May import the spec,
the build of a submission, devices and timing."""
