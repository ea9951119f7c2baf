"""nvcc's command line, its linking of device code, what ptxas would refuse, and a drop-in for nvcc, for the
virtual GPU. May import the rest of the build, the core and the walls."""
