"""The layer over nbgrader: a class from release to feedback, with points from the grader only. May
import every package of the grader but the command line."""

import sys

# jsonschema, which nbformat imports, reads 38 grammars of internationalised addresses while it is imported if
# this package is there: 2.5 CPU seconds of every process. No notebook's schema has such an address.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
