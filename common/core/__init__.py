"""What every part of the course needs and none of them is about: paths, processes, time, errors. Imports the
standard library alone."""
