"""Where the course itself lies, and what was measured that it reads at run time."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MEASURED = REPOSITORY / "common" / "measured"
