"""Two files compile to the same code, or they do not: in a kernel and on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.program import Target
from grader.mutants.same_code import code_of

SOURCE = """
static __device__ int twice(int x) { return 2 * x; }
__global__ void k(int* out, int n) {
  int kept[3];
  const int i = threadIdx.x;
  for (int j = 0; j < 3; ++j) kept[j] = twice(i) + j;
  if (i < n) out[i] = kept[0] + kept[1] + kept[2];
}
static int threads(int n) { return n > 64 ? 64 : n; }
extern "C" int run(int* out, int n, cudaStream_t stream) {
  k<<<1, threads(n), 0, stream>>>(out, n);
  return cudaGetLastError();
}
"""


def code(folder: Path, before: str = "", after: str = "") -> str | None:
    folder.mkdir()
    source = folder / "kernel.cu"
    assert before in SOURCE
    source.write_text(SOURCE.replace(before, after, 1))
    return code_of(source, Target.virtual())


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> str | None:
    return code(tmp_path_factory.mktemp("same") / "original")


@pytest.mark.parametrize(
    "change",
    [
        ("int kept[3];", "int kept[4];"),
        ("  int kept[3];\n", "\n\n  int kept[3];  // a comment\n"),
        ("const int i = threadIdx.x;", 'int i = threadIdx.x; asm volatile("mov.b32 %0, %0;" : "+r"(i));'),
    ],
    ids=["room that nobody uses", "other lines", "a move that only ptxas leaves out"],
)
def test_a_change_without_an_effect_leaves_the_code_as_it_is(original, tmp_path, change):
    assert original is not None
    assert code(tmp_path / "other", *change) == original


@pytest.mark.parametrize(
    "change",
    [("2 * x", "3 * x"), ("i < n", "i <= n"), ("n > 64", "n > 65"), ("<<<1, threads", "<<<2, threads")],
    ids=["a factor in a kernel", "a bound in a kernel", "a bound on the host", "a grid"],
)
def test_a_change_with_an_effect_is_seen(original, tmp_path, change):
    changed = code(tmp_path / "other", *change)
    assert changed is not None
    assert changed != original


def test_what_does_not_compile_has_no_code(tmp_path):
    assert code(tmp_path / "other", "2 * x", "2 *") is None
