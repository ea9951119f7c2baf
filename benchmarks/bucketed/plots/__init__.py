"""Draws the charts of the bucketed cache from benchmarks/data/bucketed, into its plots/.

    python -m benchmarks.bucketed.plots [--from FOLDER] [--out FOLDER]

accuracy.json gives accuracy.png, drift_DEVICE.json drift_DEVICE.png, latency_GPU.json three charts.
"""

from __future__ import annotations

from benchmarks.bucketed.plots import accuracy, drift, latency
from benchmarks.output.charts import Charts

CHARTS: Charts = {
    "accuracy": {"": accuracy.figure},
    "drift": {"": drift.figure},
    "latency": {
        "_errors": latency.error_figure,
        "_buckets": latency.bucket_figure,
        "_bytes": latency.byte_figure,
    },
}
