"""The colour and the mark of each budget, the same in all charts."""

from __future__ import annotations

from benchmarks.output.looks import BLUE, GREEN, ORANGE, RED

BUDGET_LOOKS = {0.20: (RED, "o"), 0.25: (ORANGE, "s"), 0.35: (GREEN, "^"), 0.50: (BLUE, "D")}
