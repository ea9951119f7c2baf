"""A call's work must be ordered on the stream that its caller gave."""

from __future__ import annotations

import dataclasses

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from tests.exercises.sections import Section, write_sections
from tests.grader.stepped_exercise import EXERCISE, SOLUTION, graph_cheat
from tests.made_source import made_source

WHOLE = dataclasses.replace(EXERCISE, steps=())
FULL = WHOLE.points.total
LAUNCH = "copy_rows<<<dim3((longest + 255) / 256, rows), 256, 0, stream>>>(all);"
OWN = "  static cudaStream_t own = nullptr;\n  if (!own) cudaStreamCreateWithFlags(&own, 1);\n"
ON_OWN = LAUNCH.replace("stream>>>", "own>>>")
EVENT = "  static cudaEvent_t event = nullptr;\n  if (!event) cudaEventCreate(&event);\n"
FORK = "  cudaEventRecord(event, stream);\n  cudaStreamWaitEvent(own, event, 0);\n  "
JOIN = "\n  cudaEventRecord(event, own);\n  cudaStreamWaitEvent(stream, event, 0);"


def graded(launch: str) -> Record:
    text = SOLUTION.read_text()
    assert text.count(LAUNCH) == 1
    source = made_source("kernel.cu", text.replace(LAUNCH, launch))
    return grade(WHOLE, source, submission="x", device="virtual")


# What is launched where, and what is said of it.
ELSEWHERE = {
    "the default stream": (
        LAUNCH.replace("stream>>>", "0>>>"),
        "copy_rows was launched on the default stream; the caller's",
    ),
    "the thread's default stream": (
        LAUNCH.replace("stream>>>", "cudaStreamPerThread>>>"),
        "on the default stream",
    ),
    "the default stream, waited for": (
        LAUNCH.replace("stream>>>", "0>>>") + " cudaDeviceSynchronize();",
        "on the default stream",
    ),
    "a stream of its own": (
        OWN + ON_OWN,
        "on another stream than the given one and did not wait for earlier work on the given one",
    ),
    "a stream of its own, waited for": (
        OWN + ON_OWN + " cudaDeviceSynchronize();",
        "did not wait for earlier work on the given one",
    ),
    "a stream that is not joined": (OWN + EVENT + FORK + ON_OWN, "still runs when the given one is done"),
    "a stream that is destroyed": (
        LAUNCH + " cudaStreamDestroy(stream);",
        "the given stream no longer works",
    ),
    "a stream that is captured for good": (
        "cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); " + LAUNCH,
        "the given stream was captured during the call",
    ),
    "a stream that is captured for a while": (
        "cudaGraph_t graph; cudaGraphExec_t made; "
        "cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed); "
        + LAUNCH
        + " cudaStreamEndCapture(stream, &graph); cudaGraphInstantiate(&made, graph, 0); "
        "cudaGraphLaunch(made, stream);",
        "the given stream was captured during the call",
    ),
    "a stream that is drawn into a capture": (
        OWN
        + EVENT
        + "cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed); cudaEventRecord(event, own); "
        "cudaStreamWaitEvent(stream, event, 0); " + LAUNCH,
        "the given stream was captured during the call",
    ),
    "a copy on a stream of its own": (
        OWN + LAUNCH + " cudaMemcpyAsync(table->target, table->target, 4, cudaMemcpyDefault, own);",
        "a copy or fill by the runtime was not in order with the given stream",
    ),
    "a device that is reset": (LAUNCH + " cudaDeviceReset();", "the given stream no longer works"),
}


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    """All of them in one file, which is compiled once."""
    texts = {name: SOLUTION.read_text().replace(LAUNCH, launch) for name, (launch, _) in ELSEWHERE.items()}
    return write_sections(texts, tmp_path_factory.mktemp("elsewhere") / "kernel.cu")


@pytest.mark.parametrize("name", ELSEWHERE)
def test_work_elsewhere_than_on_the_given_stream_is_wrong(name: str, sections: dict[str, Section]):
    section = sections[name]
    exercise = section.of(WHOLE)
    record = grade(exercise, section.file, submission="x", device="virtual", quick=True)
    assert (record.verdict, record.points) == ("not on its stream", 0), record.cases
    assert ELSEWHERE[name][1] in record.cases[0].message


def test_a_function_of_the_host_on_the_stream_is_named_as_what_it_is():
    record = graded(LAUNCH + " cudaLaunchHostFunc(stream, [](void*) {}, nullptr);")
    assert (record.verdict, record.points) == ("waits for the host", 0)
    assert "cudaLaunchHostFunc" in record.cases[0].message
    assert "in kernels" in record.cases[0].message


def test_another_stream_that_is_joined_to_the_given_one_is_allowed():
    record = graded(OWN + EVENT + FORK + ON_OWN + JOIN)
    assert record.points == FULL, (record.parts, record.cases)


def test_the_marks_around_a_call_are_not_the_submissions():
    record = graded(LAUNCH)
    assert record.points == FULL
    (launch,) = record.launches
    assert "copy_rows" in launch["kernel"]
    assert launch["index"] == 0


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        (
            LAUNCH + " cudaStreamSynchronize(stream);",
            "cannot be captured into a CUDA graph: cudaErrorStreamCaptureUnsupported (900). Nothing may be",
        ),
        (
            "void* room = nullptr; if (cudaError_t e = cudaMalloc(&room, 16)) return e;"
            + LAUNCH
            + "cudaFree(room);",
            "no cudaMalloc",
        ),
    ],
)
def test_what_cannot_be_captured_has_no_speed_in_a_graph(launch: str, words: str):
    record = graded(launch)
    assert record.verdict == "correct, speed not measured", record.cases
    assert record.points == FULL - WHOLE.points.speed
    assert words in record.parts[-1].message


def test_what_launches_other_kernels_outside_of_a_graph_has_no_speed_in_one():
    """Otherwise a captured call and a timed call could do different work."""
    status = "  cudaStreamCaptureStatus status;\n  cudaStreamIsCapturing(stream, &status);\n  "
    record = graded(f"{status}if (status != cudaStreamCaptureStatusNone) {LAUNCH}\n  {LAUNCH}")
    assert record.verdict == "correct, speed not measured", record.cases
    assert "but captured into a graph it launches" in record.parts[-1].message


def test_work_that_is_done_while_capturing_has_no_speed_in_a_graph():
    source = graph_cheat("t10_not_captured")
    record = grade(WHOLE, source, submission="x", device="virtual")
    assert record.verdict == "correct, speed not measured", record.cases
    assert "a call in a CUDA graph gives another answer than outside" in record.parts[-1].message
