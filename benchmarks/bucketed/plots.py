"""Draws the charts of this folder from the files that are in it, into plots/.

    python -m benchmarks.bucketed.plots [--from FOLDER] [--out FOLDER]

accuracy.json gives accuracy.png, drift_DEVICE.json drift_DEVICE.png, latency_GPU.json three charts.
"""

from __future__ import annotations

from benchmarks import charts
from benchmarks.bucketed import plot_accuracy, plot_drift, plot_latency
from benchmarks.bucketed.results import FOLDER

CHARTS: charts.Charts = {
    "accuracy": {"": plot_accuracy.figure},
    "drift": {"": plot_drift.figure},
    "latency": {
        "_errors": plot_latency.error_figure,
        "_buckets": plot_latency.bucket_figure,
        "_bytes": plot_latency.byte_figure,
    },
}


if __name__ == "__main__":
    charts.command(__doc__, CHARTS, FOLDER)
