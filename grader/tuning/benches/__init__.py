"""Where a configuration is timed: on a GPU, or on the virtual GPU by its model. Used by the search alone."""
