"""The virtual GPU's own C++ sources, built here or elsewhere. May import the rest of the build, and nothing
of the virtual GPU's Python side."""
