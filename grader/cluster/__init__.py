"""Grades submissions on other machines: on a Dask cluster, or as jobs of Slurm. Dask is imported when needed.
May import the classes, the course, and what they import.

The submitting machine runs `choose`, `dask_cluster` and `slurm`. A node runs `node`, in the process of Dask's
worker, and `grading_server`, which grades.
"""
