"""The options of the programs that measure."""

from __future__ import annotations

import argparse


def described_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser whose --help shows the description as it was written: line by line."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
