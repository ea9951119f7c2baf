"""The parser's dump driver and nvcc's PTX for the CUDA samples, from the build cache or built now."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from common.build.cache import default_cache
from common.build.compile import compile_units
from common.build.engine.build import standard_headers
from common.build.engine.groups import grouped
from common.build.link import link
from common.build.toolchain import ToolchainError, find_host_compiler, find_nvcc
from common.build.unit import Unit
from tests.virtual_gpu.engine_units import ENGINE, engine_units

HERE = Path(__file__).resolve().parent
PARSER = ENGINE / "ptx"
PARSER_SOURCES = sorted(PARSER.glob("*.cpp"))
DRIVER = HERE / "ptx_dump.cpp"
SAMPLES = HERE / "samples"
# On ARM the search for leaks at the end of a process takes four seconds of CPU time, milliseconds elsewhere.
_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"} if platform.machine() == "aarch64" else {}


class PtxDump:
    """The parser behind a process: a crash or a hang of it is a failed test, not the end of the test run."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def _run(self, arguments: list[str], text: bytes, timeout: float) -> subprocess.CompletedProcess[bytes]:
        command = [str(self.program), *arguments]
        return subprocess.run(
            command, input=text, capture_output=True, check=False, timeout=timeout, env=os.environ | _LEAKS
        )

    def module(self, text: str) -> dict[str, Any]:
        done = self._run([], text.encode(), 60)
        assert done.returncode == 0, done.stderr.decode()
        parsed: dict[str, Any] = json.loads(done.stdout)
        return parsed

    def error(self, text: str) -> str:
        done = self._run([], text.encode(), 60)
        assert done.returncode == 1, f"no ParseError but status {done.returncode}: {done.stderr.decode()}"
        return done.stderr.decode().strip()

    def verdicts(self, texts: Iterable[bytes], timeout: float = 300) -> list[str]:
        """'module' or the ParseError for each text, all parsed in one process."""
        texts = list(texts)
        done = self._run(["--many"], b"".join(b"%d\n%s" % (len(text), text) for text in texts), timeout)
        assert done.returncode == 0, done.stderr.decode()[-4000:]
        verdicts = done.stdout.decode().splitlines()
        assert len(verdicts) == len(texts)
        return verdicts

    def milliseconds(self, text: str, repeats: int) -> float:
        done = self._run(["--time", str(repeats)], text.encode(), 120)
        assert done.returncode == 0, done.stderr.decode()
        return float(done.stdout)


def _driver_command(*flags: str) -> tuple[str, ...]:
    warnings = ("-Wall", "-Wextra", "-Werror")
    return (str(find_host_compiler().path), "-std=c++20", *warnings, f"-I{ENGINE}", f"-I{PARSER}", *flags)


def _unit(source: Path, command: Sequence[str]) -> Unit:
    compiler = find_host_compiler()
    headers = standard_headers(ENGINE, compiler)
    return Unit(source, (*command, "-c"), compiler.fingerprint, precompiled=headers)


def _link_driver(units: Sequence[Unit], command: Sequence[str]) -> PtxDump:
    cache = default_cache()
    entry, _ = link(
        command,
        compile_units(units, cache=cache, label="building the PTX dump driver"),
        output="ptx_dump",
        libraries=[],
        fingerprint=find_host_compiler().fingerprint,
        cache=cache,
    )
    return PtxDump(entry.path / "ptx_dump")


def _sanitizer_flags() -> list[str]:
    """The sanitizers this compiler has libraries for."""
    compiler = str(find_host_compiler().path)
    available = []
    for name, library in (("address", "libasan.so"), ("undefined", "libubsan.so")):
        command = [compiler, f"-print-file-name={library}"]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        if Path(found).is_absolute():
            available.append(name)
    return [f"-fsanitize={','.join(available)}", "-fno-sanitize-recover=all"] if available else []


@pytest.fixture(scope="session")
def ptx() -> PtxDump:
    command = _driver_command("-O1", "-g1", *_sanitizer_flags())
    together = [source.path for source in grouped(PARSER_SOURCES, ENGINE, default_cache())]
    return _link_driver([_unit(source, command) for source in (*together, DRIVER)], command)


@pytest.fixture(scope="session")
def fast_ptx() -> PtxDump:
    """Without sanitizers, from the engine's own object files: for measuring."""
    if os.environ.get("VGPU_SANITIZER"):
        pytest.skip("an engine that checks itself is not measured")
    command = _driver_command("-O2")
    return _link_driver([*engine_units(PARSER_SOURCES), _unit(DRIVER, command)], command)


@pytest.fixture(scope="session")
def grammar() -> str:
    """Valid PTX that uses every part of the grammar."""
    return (SAMPLES / "grammar.ptx").read_text()


NVCC_BUILDS = {
    "lineinfo": ("-O3", "-lineinfo"),
    "debug": ("-G",),
    "relocatable": ("-O3", "-lineinfo", "-rdc=true"),
}


SAMPLE_NAMES = sorted(path.stem for path in SAMPLES.glob("*.cu"))


def compile_sample(name: str, build: str) -> str:
    """What nvcc makes of a CUDA sample; the test is skipped where there is no nvcc."""
    try:
        nvcc = find_nvcc()
    except ToolchainError as missing:
        pytest.skip(str(missing))
    flags = (*NVCC_BUILDS[build], "-std=c++17", "-gencode", "arch=compute_90,code=compute_90")
    unit = Unit(
        source=SAMPLES / f"{name}.cu",
        command=(str(nvcc.path), "-ptx", *flags),
        fingerprint=nvcc.fingerprint,
        output="sample.ptx",
        toolchain_root=nvcc.root,
    )
    compiled = compile_units([unit], cache=default_cache(), label=f"compiling {name}.cu")
    return compiled[0].path.read_text()


@pytest.fixture(scope="session", params=[f"{name}-{build}" for name in SAMPLE_NAMES for build in NVCC_BUILDS])
def nvcc_ptx(request: pytest.FixtureRequest) -> str:
    name, _, build = request.param.partition("-")
    return compile_sample(name, build)


@pytest.fixture(scope="session")
def language_ptx() -> str:
    """The sample that uses what C++ itself needs, built as the course builds programs."""
    return compile_sample("language", "lineinfo")
