"""Answers to inputs that the host got to see do not count: host code may have made them."""

from __future__ import annotations

import dataclasses

import pytest

from grader.pipeline.grading import grade
from tests.exercises.sections import Section, write_sections
from tests.grader.stepped_exercise import EXERCISE, SOLUTION

WHOLE = dataclasses.replace(EXERCISE, steps=())
LAUNCH = "copy_rows<<<dim3((longest + 255) / 256, rows), 256, 0, stream>>>(all);"
PRINTS = """__global__ void tell(const int* source, int64_t count) {
  for (int64_t i = 0; i < count; ++i) printf("%d\\n", source[i]);
}
__global__ void nothing() {}
"""
# What is done beside the honest launch, and what is said of it: the host could have done the work instead.
SEEN = {
    "by printf": (
        "tell<<<1, 1, 0, stream>>>(all.row[0].source, all.row[0].count); cudaStreamSynchronize(stream); "
        + LAUNCH,
        "not in a kernel",
        "and the call waited for them (cudaStreamSynchronize)",
    ),
    "by a copy of few bytes": (
        "int seen[512]; for (int i = 0; i < rows; ++i) cudaMemcpyAsync(seen, all.row[i].source, "
        "4 * all.row[i].count, cudaMemcpyDeviceToHost, stream); " + LAUNCH,
        "not in a kernel",
        "bytes were copied to the host",
    ),
    "by pinned memory": (
        "static int* seen = nullptr; if (!seen) cudaMallocHost(&seen, 1 << 16); "
        "for (int i = 0; i < rows; ++i) "
        "copy<<<1, 256, 0, stream>>>(all.row[i].source, seen + 256 * i, all.row[i].count); " + LAUNCH,
        "not in a kernel",
        "in memory that the host sees as well",
    ),
    "behind more launches than anybody looks at": (
        "for (int i = 0; i < 4096; ++i) nothing<<<1, 1, 0, stream>>>(); " + LAUNCH,
        "takes too much",
        "launches, more than the 4,096 looked at",
    ),
}


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    honest = "#include <cstdio>\n" + SOLUTION.read_text().replace(
        "namespace {\n", "namespace {\n" + PRINTS, 1
    )
    texts = {name: honest.replace(LAUNCH, launch) for name, (launch, _, _) in SEEN.items()}
    texts["a small print"] = honest.replace(
        LAUNCH, "tell<<<1, 1, 0, stream>>>(all.row[0].source, 2); " + LAUNCH
    )
    return write_sections(texts, tmp_path_factory.mktemp("seen") / "kernel.cu")


@pytest.mark.parametrize("name", SEEN)
def test_what_the_host_could_have_made_does_not_count(name: str, sections: dict[str, Section]):
    """Must not earn: any point."""
    section = sections[name]
    record = grade(section.of(WHOLE), section.file, submission="x", device="virtual", seed="s", quick=True)
    _, verdict, words = SEEN[name]
    failed = next(case for case in record.cases if not case.passed)
    assert record.verdict == verdict, failed.message
    assert any(words in case.message for case in record.cases)
    assert record.points == 0, record.parts


def test_a_print_that_nobody_waits_for_costs_nothing(sections: dict[str, Section]):
    section = sections["a small print"]
    record = grade(section.of(WHOLE), section.file, submission="x", device="virtual", seed="s", stages=())
    assert all(case.passed for case in record.cases), record.cases
