"""What tests need, as markers: by folder, by file or by name, in one table; and the guard that checks it.

`engine`: starts the virtual GPU, which is built first. `compiler`: runs nvcc or g++, and starts no engine.
What needs neither, nor a browser, a GPU or root, is what `./course test --quick` runs. A test without a
marker that asks for a compiler or an engine all the same does not get it, and fails with the name of it.
"""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
GUARD = TESTS / "guard"
MARKERS = ("engine", "compiler", "browser", "gpu", "root")
# Paths are relative to tests/. A name after :: is a test's, or the beginning of several tests' names.
NEEDS: dict[str, tuple[str, ...]] = {
    "root": ("bare_roots",),
    "gpu": ("gpu",),
    "browser": ("browser",),
    "engine": (
        "virtual_gpu",
        "notebooks/test_running.py",
        "notebooks/test_bucketed_and_flash.py",
        "notebooks/test_hopper.py",
        "common/test_sandbox_worker.py",
        "exercises/test_added_exercise.py",
        "exercises/test_grading.py",
        "grader/test_student_commands.py::test_a_command",
        "exercises/test_steps_alone.py",
        "exercises/01_kv_store/test_cheats.py",
        "exercises/01_kv_store/test_grading.py",
        "exercises/01_kv_store/test_kernels.py",
        "exercises/02_fused_copy/test_grading.py",
        "exercises/02_fused_copy/test_kernels.py",
        "benchmarks/test_reality_check.py::test_the_reality_check_runs",
        "exercises/03_batched_copy/test_grading.py",
        "exercises/03_batched_copy/test_kernels.py",
        "exercises/03_batched_copy/test_refusals.py",
        "exercises/04_bucketed_kv/test_between_blocks.py",
        "exercises/04_bucketed_kv/test_grading.py",
        "exercises/04_bucketed_kv/test_wrong_kernels.py",
        "exercises/05_flash_attention/test_causes.py",
        "exercises/05_flash_attention/test_debug_build.py",
        "exercises/05_flash_attention/test_decode.py",
        "exercises/05_flash_attention/test_gate.py",
        "exercises/05_flash_attention/test_grading.py",
        "exercises/05_flash_attention/test_lab.py",
        "exercises/05_flash_attention/test_mechanisms.py",
        "exercises/05_flash_attention/test_persistent_tiles.py",
        "exercises/05_flash_attention/test_wrong_kernels.py",
        "exercises/06_hopper_attention/test_kernels.py",
        "exercises/06_hopper_attention/test_lab.py",
        "grader/notebook/test_rpc.py::test_the_real_one_does_many",
        "grader/notebook/test_lab.py",
        "grader/notebook/test_post_mortem.py",
        "grader/notebook/test_program.py",
        "grader/test_architecture.py",
        "grader/test_baseline_case.py",
        "grader/test_bench_virtual.py",
        "grader/test_bundle.py::test_a_student_can_check_a_kernel",
        "grader/cluster/test_slurm.py",
        "grader/cluster/test_measuring_elsewhere.py::test_a_bench_elsewhere",
        "grader/cluster/test_measuring_elsewhere.py::test_a_search_elsewhere",
        "grader/test_class_run.py::test_a_record_names_the_file",
        "grader/test_every_kind_of_submission.py",
        "grader/test_mutants.py::test_mutants_of_the_first_exercise",
        "grader/test_mutant_sample.py",
        "grader/test_same_code.py",
        "grader/test_captures.py",
        "grader/test_given_stream.py",
        "grader/test_timed_calls.py",
        "grader/test_attacks_by_other_apis.py",
        "grader/test_fresh_attacks.py",
        "grader/test_patched_worker.py",
        "grader/test_jobs_at_once.py",
        "grader/test_attacks_on_a_gpu.py",
        "grader/test_seen_by_the_host.py",
        "grader/test_grade_verb.py::test_a_grading_can_be_repeated",
        "grader/test_graph_speed.py",
        "grader/test_large_sizes.py",
        "grader/test_limits_on_virtual.py",
        "grader/test_printed.py::test_output_of_a_kernel",
        "grader/test_quick_speed.py",
        "grader/test_nvcc_drop_in.py",
        "grader/test_gradescope.py",
        "grader/test_run.py",
        "grader/test_run_devices.py",
        "grader/test_run_limits.py",
        "grader/test_run_several.py",
        "grader/test_scratch.py",
        "grader/test_busy_machine.py",
        "grader/test_step_speed.py",
        "grader/test_student_verbs.py::test_profile",
        "grader/test_student_verbs.py::test_a_profile",
        "grader/test_launchable.py::test_a_kernel_that",
        "grader/test_machine_code.py",
        "grader/test_steps.py",
        "grader/test_student_verbs.py::test_a_profile_",
        "grader/test_tuning_trial.py",
        "grader/test_tuning_verb.py",
        "nbgrader/test_marks_agree.py",
        "serving/bucketed/test_kernel_backend.py",
        "serving/test_attention.py",
        "serving/test_batched_copy.py",
        "serving/test_decode_engine.py",
        "serving/test_flash_attention.py",
        "serving/test_fused_copy.py",
        "serving/test_nsa_metadata.py",
        "serving/test_store_kv.py",
        "test_docs.py::test_tables_and_sample_outputs",
    ),
    "compiler": (
        "benchmarks/test_entry_calls.py",
        "common/cuda/test_headers.py",
        "common/test_addresses.py::test_one_file",
        "common/test_build.py",
        "common/test_compile.py",
        "common/test_diagnostics.py::test_a_real_mistake",
        "common/test_embedded_ptx.py",
        "common/test_engine_build.py",
        "common/test_machine_code.py",
        "common/test_nvcc_steps.py",
        "common/test_prebuilt_engine.py",
        "common/test_precompiled.py",
        "common/test_resources.py",
        "common/test_sandbox_compiler.py",
        "common/test_sandbox_connections.py",
        "common/test_static_memory.py::test_a_program_for",
        "common/test_wheels.py",
        "grader/test_build_stage.py",
        "grader/test_symbols.py",
        "grader/test_tuning_gates.py::test_what_is_refused_as_indivisible",
    ),
}


def mark(item: pytest.Item) -> None:
    """Give a test the markers that the table has for it."""
    for need, beginning in _rows_of(item.path):
        if item.name.startswith(beginning):
            item.add_marker(need)


@cache
def _rows_of(file: Path) -> list[tuple[str, str]]:
    """What tests in this file need, and how the names begin of those that do."""
    rows = [(need, *place.partition("::")) for need, places in NEEDS.items() for place in places]
    return [(need, name) for need, path, _, name in rows if file.is_relative_to(TESTS / path)]


def is_quick(item: pytest.Item) -> bool:
    return not any(item.get_closest_marker(need) for need in MARKERS)


def watch() -> None:
    """From now on this process and those that it starts refuse what a guarded test may not start."""
    runpy.run_path(str(GUARD / "sitecustomize.py"))
    # For good and not test by test: a fixture may set it too, for longer than this would be set.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(GUARD), os.environ.get("PYTHONPATH"))))


@contextmanager
def guarded(item: pytest.Item, folder: Path) -> Iterator[None]:
    """Fail a test that starts what its markers do not name."""
    started = folder / f"started-{os.getpid()}"
    started.touch()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COURSE_STARTED", str(started))
            yield
    finally:
        seen = sorted(set(started.read_text().splitlines()))
        started.unlink()
        if seen:
            _fail(item, seen)


def _fail(item: pytest.Item, seen: list[str]) -> None:
    needs = sorted({line.partition(" ")[0] for line in seen})
    names = ", ".join(line.partition(" ")[2] for line in seen)
    pytest.fail(
        f"{item.nodeid} starts {names}, but has no marker for that: name it under "
        f"{' or '.join(map(repr, needs))} in tests/needs.py, or let it start nothing",
        pytrace=False,
    )
