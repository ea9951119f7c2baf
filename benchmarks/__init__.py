"""Programs that measure, and that make tables, charts and pictures from what was measured.

What they measured is in data/, by subject: pages are made from it, and the course runs without it. What the
course itself reads is in common/measured. Programs here import the course and never its tests.
"""

from pathlib import Path

DATA = Path(__file__).parent / "data"
