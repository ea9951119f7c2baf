"""A real GPU, as the harness uses it: memory shared with a worker, clocks, one user at a time. May
import the core and the build."""
