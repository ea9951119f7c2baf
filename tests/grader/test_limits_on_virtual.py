"""What the virtual GPU refuses: endless calls, time that is not modelled, copies in any call."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.sandbox.policy import Walls
from common.worker.process import Worker
from grader.devices import device
from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.render import terminal
from grader.spec import case
from grader.timing.modelled.unmodelled import unmodelled
from tests.grader.stepped_exercise import EXERCISE, SOLUTION
from tests.waiting import wait_until

WHOLE = dataclasses.replace(EXERCISE, steps=())
INDEX = "const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;"


def changed(folder: Path, old: str, new: str) -> Path:
    text = SOLUTION.read_text()
    assert text.count(old) == 1
    source = folder / "kernel.cu"
    source.write_text(text.replace(old, new))
    return source


def graded(source: Path, exercise=WHOLE, **options) -> Record:
    return grade(exercise, source, submission="x", device="virtual", **options)


def test_a_kernel_that_sleeps_has_no_modelled_speed(tmp_path: Path):
    record = graded(changed(tmp_path, INDEX, INDEX + " __nanosleep(1000000);"))
    speed = record.parts[-1]
    assert (speed.name, speed.points) == ("speed", 0)
    assert "kernel.cu:27 lets threads sleep (nanosleep), which is not modelled" in speed.message


def test_loops_of_cudas_own_barriers_may_sleep(tmp_path: Path):
    source = tmp_path / "barrier.cu"
    source.write_text("""#include <cuda/barrier>
__global__ void wait(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  barrier.arrive_and_wait();
  out[threadIdx.x] = 1;
}
""")
    library = build_program([source], Target.virtual(), kind="shared").path
    assert b"nanosleep" in library.read_bytes()
    assert unmodelled(library) == ""


def test_all_cases_together_have_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(device, "_VIRTUAL_SECONDS", 0.0)
    record = graded(SOLUTION)
    assert (record.verdict, record.points) == ("takes too long", 0)
    assert record.cases[0].message.startswith("all cases together may take 0 s of CPU time and sleep here")
    assert [case.reason for case in record.cases[1:]] == ["not run"] * (len(record.cases) - 1)


def test_a_library_that_cannot_be_loaded_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    loaded: list[Path] = []

    def load(worker: Worker, path: Path, *, load=Worker.load) -> int:
        loaded.append(path)
        return load(worker, path, 2.0)

    monkeypatch.setattr(Worker, "load", load)
    source = tmp_path / "kernel.cu"
    stuck = "struct Stuck { Stuck() { for (volatile int i = 0;; i = i + 1) {} } } stuck;\n"
    source.write_text(SOLUTION.read_text() + stuck)
    record = graded(source, EXERCISE)
    assert (record.verdict, record.points) == ("cannot be loaded", 0)
    assert len(loaded) == 1, "and not once for each step and the whole"
    timeouts = [part.message for part in record.parts if "did not return within 2 s" in part.message]
    assert len(timeouts) == len(EXERCISE.steps) + 1
    assert all("loading the library did" in message for message in timeouts)


def test_one_launch_is_asked_for_in_every_case(tmp_path: Path):
    copies = """if (rows == 1) {
    copy<<<1, 1, 0, stream>>>(table->source, table->target, 0);
    return cudaMemcpyAsync(table->target, table->source, 4 * table->count, cudaMemcpyDefault, stream);
  }
  Rows all{};"""
    record = graded(changed(tmp_path, "Rows all{};", copies), stages=("build", "correctness", "mechanism"))
    (launches,) = record.mechanisms
    if all(case.passed for case in record.cases):
        assert launches.message.endswith("1 copy by the runtime, expected 1 (one)"), launches.message
    assert not launches.passed


def test_cases_that_need_a_gpu_are_named(tmp_path: Path):
    large = case("a gigantic row", n=1 << 33, copies=1, gpu_only=True)
    record = graded(SOLUTION, dataclasses.replace(WHOLE, cases=(*WHOLE.cases, large)), stages=("build",))
    assert record.left_out == ["a gigantic row"]
    assert terminal.left_out(record) == "1 case needs a GPU and was not run: a gigantic row\n"
    assert "a gigantic row" in terminal.summary(record)
    assert Record.from_dict(record.to_dict()) == record


@pytest.mark.parametrize(
    ("trouble", "verdict", "words"),
    [
        ("if (rows) *(volatile int*)8 = 1;", "crashes", "SIGSEGV"),
        # What dividing by zero does on x86; on ARM it gives 0.
        ("if (rows) std::raise(SIGFPE);", "crashes", "divided a whole number by zero"),
        ("if (rows) throw 1;", "crashes", "an uncaught exception"),
        ("copy_rows<<<1, 2048, 0, stream>>>(Rows{}); if (cudaError_t e = cudaGetLastError()) return e;",
         "returns an error", "blocks of (2048,1,1) have more than 1024 threads"),
    ],
)  # fmt: skip
def test_a_failed_call_has_its_usual_cause(tmp_path: Path, trouble: str, verdict: str, words: str):
    source = changed(tmp_path, "  Rows all{};", f"  {trouble}\n  Rows all{{}};")
    source.write_text("#include <csignal>\n" + source.read_text())
    record = graded(source, quick=True)
    assert record.verdict == verdict, record.cases
    assert words in record.cases[0].message


def test_printing_too_much_is_reported_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    little = dataclasses.replace(Walls.virtual(), output_bytes=10_000)
    monkeypatch.setattr(Walls, "virtual", staticmethod(lambda: little))
    words = ' for (int k = 0; k < 100; ++k) printf("%d flood flood flood\\n", k);'
    source = changed(tmp_path, INDEX, INDEX + words)
    source.write_text("#include <cstdio>\n" + source.read_text())
    record = graded(source, quick=True)
    assert record.verdict == "takes too much", record.cases
    assert "copy_many was ended: it printed more than" in record.cases[0].message


def test_a_program_that_ends_after_its_call_has_lost_no_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The call has returned when the program is ended for what it printed: that is the cause, not the stream
    which went with the program."""
    little = dataclasses.replace(Walls.virtual(), output_bytes=10_000)
    monkeypatch.setattr(Walls, "virtual", staticmethod(lambda: little))
    calls = Worker.calls

    def until_it_ends(self, orders, what, timeout):
        returned = calls(self, orders, what, timeout)
        if what == WHOLE.entry:
            assert wait_until(lambda: not self.alive)
        return returned

    monkeypatch.setattr(Worker, "calls", until_it_ends)
    flood = '  for (int k = 0; k < 1000; ++k) std::printf("%d flood flood flood\\n", k);\n'
    source = changed(tmp_path, "  Rows all{};", f"{flood}  std::fflush(stdout);\n  Rows all{{}};")
    source.write_text("#include <cstdio>\n" + source.read_text())
    record = graded(source, quick=True)
    assert record.verdict == "takes too much", record.cases
    assert "copy_many was ended: it printed more than" in record.cases[0].message
