"""The layer over nbgrader: a class from release to feedback, with points that come from the grader alone."""
