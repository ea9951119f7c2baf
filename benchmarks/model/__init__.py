"""The cost model compared with an H200: kernels of many kinds, predicted first and measured afterwards."""
