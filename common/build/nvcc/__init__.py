"""nvcc's command line, its linking of device code, and a drop-in for it, for the virtual GPU. May import the
rest of the build, the core and the walls."""
