"""Copies are found under new names and comments; what the starter gave everyone is no copy."""

from __future__ import annotations

import csv
import random
import re
import time

import pytest

from grader.classes.similarity import similar_pairs, write_csv

KERNEL = """\
#include <cuda_runtime.h>
__global__ void store(float* out, const float* in, int rows, int width) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  for (int column = threadIdx.x; column < width; column += blockDim.x) {
    float value = in[row * width + column];
    out[row * width + column] = value * 2.0f + 1.0f;
  }
}
extern "C" int run(float* out, const float* in, int rows, int width, cudaStream_t stream) {
  dim3 block(32, 8);
  store<<<(rows + 7) / 8, block, 0, stream>>>(out, in, rows, width);
  return cudaGetLastError();
}
"""


def renamed(source: str) -> str:
    """What a copier does: new names, other numbers, comments and blanks."""
    names = {
        "store": "scatter",
        "row": "r",
        "rows": "n",
        "column": "c",
        "width": "w",
        "value": "tmp",
        "in": "src",
    }
    for old, new in names.items():
        source = re.sub(rf"\b{old}\b", new, source)
    return source.replace("2.0f", "4.f").replace(";\n", ";  // my own idea\n\n").replace("/* */", "")


def other(seed: int, statements: int = 40) -> str:
    """A kernel of some length that has little to do with another's."""
    draw = random.Random(seed)

    def term(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return draw.choice(("x", "7", "p[i]", "f(a)", "*q", "threadIdx.x"))
        return f"{term(depth - 1)} {draw.choice('+-*/%&|^')} ({term(depth - 1)})"

    heads = ("y = {};", "if ({}) return;", "while ({}) ++n;", "out[{}] = 0;", "g({});")
    lines = (draw.choice(heads).format(term(3)) for _ in range(statements))
    return "__global__ void kernel(float* x) {\n" + "\n".join(lines) + "\n}\n"


def test_a_renamed_copy_is_found_with_its_lines(tmp_path):
    sources = {"alice": KERNEL, "bob": "// all mine\n\n" + renamed(KERNEL), "carol": other(1)}
    [pair] = similar_pairs("01_first", sources)
    assert (pair.first, pair.second) == ("alice", "bob")
    assert pair.share > 0.9
    assert pair.first_lines[0][0] <= 3
    assert pair.second_lines[-1][1] >= 20
    write_csv([pair], tmp_path / "similarity.csv")
    [row] = list(csv.DictReader((tmp_path / "similarity.csv").open()))
    assert (row["first"], row["second"]) == ("alice", "bob")
    assert re.fullmatch(r"(\d+(-\d+)? ?)+", row["lines of first"])


def test_part_of_a_file_in_a_longer_one_is_found():
    [pair] = similar_pairs("01_first", {"alice": KERNEL, "bob": other(2) + KERNEL + other(3)})
    assert pair.share > 0.8


def test_what_everyone_was_given_does_not_count(tmp_path):
    starter = tmp_path / "kernel.cu"
    starter.write_text(KERNEL)
    sources = {"alice": KERNEL + other(4), "bob": KERNEL + other(5)}
    assert similar_pairs("01_first", sources, [starter]) == []
    assert similar_pairs("01_first", {"alice": KERNEL, "bob": KERNEL}, [starter]) == []


def test_independent_work_is_not_similar():
    assert similar_pairs("01_first", {f"s{seed}": other(seed) for seed in range(20)}) == []


def test_odd_texts_do_not_fail():
    odd = ["", "/* never closed", '"never closed', "'", "\\", "\x00\x01", "é ∂ 💥", 'R"(raw)"', "#" * 5000]
    assert similar_pairs("01_first", {str(number): text for number, text in enumerate(odd)}) == []


def test_a_large_class_takes_seconds():
    sources = {f"s{seed}": other(seed, 60) for seed in range(300)}
    started = time.process_time()
    similar_pairs("01_first", sources)
    assert time.process_time() - started < 20


HOSTILE = {
    "quotes behind backslashes": '\\\\"',
    "quotes without a twin": '"a',
    "comments without an end": "/*",
    "numbers": "1e+",
    "dots": ".",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_text_and_no_faster(name):
    def seconds(size: int) -> float:
        text = HOSTILE[name] * (size // len(HOSTILE[name]))
        started = time.process_time()
        similar_pairs("01", {"mallory": text, "alice": KERNEL})
        return time.process_time() - started

    assert seconds(160_000) < 20 * seconds(20_000) + 0.5


def test_a_name_is_no_formula_in_a_spreadsheet(tmp_path):
    pairs = similar_pairs("01", {"=cmd|calc!A0": KERNEL * 4, "bob": KERNEL * 4})
    write_csv(pairs, tmp_path / "similarity.csv")
    rows = list(csv.reader((tmp_path / "similarity.csv").open()))
    assert "'=cmd|calc!A0" in rows[1]
