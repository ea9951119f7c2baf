"""What every part of the course needs: paths, files, processes, CPU time, errors. Imports the standard
library alone."""
