"""Where a configuration is timed: on a GPU, or on the virtual GPU by its model. Used by the search alone.
May import the devices, the timing, and the rest of the search."""
