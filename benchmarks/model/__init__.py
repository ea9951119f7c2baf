"""The cost model held against an H200: kernels of many kinds, predicted first and measured afterwards."""
