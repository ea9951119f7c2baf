"""What tensor maps do on a GPU that no documentation says, case by case.

`python -m benchmarks.virtual_gpu.tensor_maps.record` makes the record; the virtual GPU is compared with it.
"""
