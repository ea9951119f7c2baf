"""The points of each cell of a notebook and the reasons, from records and from answers read as data, and the
processes that write them. May import records, questions and the spec."""
