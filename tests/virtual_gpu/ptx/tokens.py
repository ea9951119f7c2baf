"""PTX cut into words and what stands between them, for tests that damage it."""

from __future__ import annotations

import re

TOKEN = re.compile(rb"\s+|[%$\w.:]+|.", re.DOTALL)
