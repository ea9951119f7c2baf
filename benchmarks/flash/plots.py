"""Draws the charts of this folder from the files that are in it, into plots/.

    python -m benchmarks.flash.plots [--from FOLDER] [--out FOLDER]

latency_GPU.json gives five charts, decode_GPU.json one.
"""

from __future__ import annotations

from benchmarks import charts
from benchmarks.flash import plot_decode, plot_ladder, plot_rates, plot_roofline, plot_times
from benchmarks.flash.results import FOLDER

CHARTS: charts.Charts = {
    "latency": {
        "_times": plot_times.figure,
        "_rates_64": plot_rates.of_64,
        "_rates_128": plot_rates.of_128,
        "_roofline": plot_roofline.figure,
        "_ladder": plot_ladder.figure,
    },
    "decode": {"": plot_decode.figure},
}


if __name__ == "__main__":
    charts.command(__doc__, CHARTS, FOLDER)
