"""nbgrader's release of feedback. By itself it stops at the first submission without a date or a secret: one
that did not come through the exchange, or whose student removed them."""

from __future__ import annotations

import glob
import os
import secrets
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback


class ReleaseToEverybody(ExchangeReleaseFeedback):
    def copy_files(self) -> None:
        for folder in sorted(
            {Path(page).parent for page in glob.glob(os.path.join(self.src_path, "*.html"))}
        ):
            if not _says_something(folder / "timestamp.txt"):
                (folder / "timestamp.txt").write_text("no date")
            if not _says_something(folder / "submission_secret.txt"):
                (folder / "submission_secret.txt").write_text(secrets.token_hex(64))
                self.log.warning("%s did not come through the exchange: return its pages yourself", folder)
        super().copy_files()


def _says_something(path: Path) -> bool:
    try:
        return bool(path.read_text())
    except (OSError, ValueError):
        return False
