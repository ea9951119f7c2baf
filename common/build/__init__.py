"""From CUDA sources to programs, libraries and figures, each built once and kept in a cache. May import the
core, the walls that compilers run behind, and what reads machine code."""
