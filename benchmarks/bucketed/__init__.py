"""What exercise 04's cache costs and saves: error, memory, drift over thousands of steps, time on a GPU."""
