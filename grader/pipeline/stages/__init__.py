"""How a submission becomes points: build, correctness, checks, mechanism, speed, points; one module each."""
