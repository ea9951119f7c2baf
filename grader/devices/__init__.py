"""Devices that run a submission's kernels: a session holds one library in a worker process and calls it. May
import the spec, the answers and everything in common."""
