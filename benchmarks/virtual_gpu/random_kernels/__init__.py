"""Random small kernels whose every bit is defined: the same on an H200 and on the virtual GPU.

`python -m benchmarks.virtual_gpu.random_kernels` makes, builds, runs and compares them. It imports the
standard library and `common` alone, because machines with a GPU may have no more.
"""
