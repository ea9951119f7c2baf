"""What stands between a kernel and its first instruction: the answers of a GPU, and of the virtual one."""
