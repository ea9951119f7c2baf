"""Self-checking programs, one subject each: API calls, warps, atomics, kinds of memory, small algorithms."""
