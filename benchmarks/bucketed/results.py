"""Where the figures of this folder go."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
