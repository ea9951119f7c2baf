"""What each cell of a notebook earns and why, from records and from answers read as data. May import records,
questions and the spec."""
