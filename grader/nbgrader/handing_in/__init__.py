"""Checks submitted folders, notebooks and answers before nbgrader reads them, all within limits. May import
nbgrader and the class's folder, and nothing that grades."""
