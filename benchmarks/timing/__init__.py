"""How kernels are timed here: inside CUDA graphs, from a cold L2, called in this process."""
