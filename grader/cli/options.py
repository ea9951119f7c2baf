"""What several verbs have in common: the device, the settings, the exercise."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grader.course.settings import Settings, choose_device, read_settings
from grader.records.device_info import KINDS, DeviceInfo

DEFAULT_GRADES = Path("grades")


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=KINDS, help="default: the course's official device, else a GPU if there is one"
    )
    parser.add_argument("--settings", metavar="FILE", type=Path, help="instead of course.toml")


def add_exercise(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """NN: a number, a name or the folder's name."""
    parser.add_argument("exercise", metavar="NN", nargs="?" if optional else None, help="01, kv_store, …")


def add_on(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on",
        metavar="PLACE",
        help="which machines work: here (the default), tls://HOST:PORT or a scheduler's file of Dask, slurm",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")


def settled(options: argparse.Namespace) -> tuple[Settings, DeviceInfo]:
    """The settings and the device, which is printed first: on stderr where stdout is for JSON."""
    settings = read_settings(options.settings)
    device = choose_device(options.device, settings)
    announce(device, settings, to_stderr=options.json)
    return settings, device


def announce(device: DeviceInfo, settings: Settings, *, to_stderr: bool) -> None:
    remark = settings.remark(device.kind)
    line = f"device: {device}" + (f" ({remark})" if remark else "")
    print(line, file=sys.stderr if to_stderr else sys.stdout, flush=True)
