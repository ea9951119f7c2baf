"""What students hand in, looked at before nbgrader does: folders, notebooks, answers, all within limits. May
import nbgrader and the class's folder, and nothing that grades."""
