"""Programs that measure, and that make tables, charts and pictures from what was measured.

Their results are in data/, by subject: pages are made from them, and the course runs without them. What the
course itself reads is in common/measured. Programs here import the course, never its tests.
"""

from pathlib import Path

DATA = Path(__file__).parent / "data"
