"""Draws the charts of attention from benchmarks/data/flash, into its plots/.

    python -m benchmarks.flash.plots [--from FOLDER] [--out FOLDER]

latency_GPU.json gives five charts, decode_GPU.json one.
"""

from __future__ import annotations

from benchmarks.flash.plots import decode, ladder, rates, roofline, times
from benchmarks.output.charts import Charts

CHARTS: Charts = {
    "latency": {
        "_times": times.figure,
        "_rates_64": rates.of_64,
        "_rates_128": rates.of_128,
        "_roofline": roofline.figure,
        "_ladder": ladder.figure,
    },
    "decode": {"": decode.figure},
}
