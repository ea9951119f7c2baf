"""Cheats against exercise 01, by name: the programs in cheats/, and edits of the baseline or of the solution.

The first line of each source says what it may earn at most, such as `// may earn: correct 40, clean 10`, or
`nothing`; the next ones say what it tries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grader.spec import registry
from tests.exercises.wrong_kernel import edited

_EXERCISE = registry.find("01")
_ENTRY = "int head_dim, cudaStream_t stream) {\n"
_INCLUDES = "#include <cuda_fp16.h>\n"
_TOKEN_BOUND = "  if (token >= p.seq_len) return;\n"
_LAUNCH = "store_kv<kUnitBytes><<<ceil_div(p.seq_len, kTokensPerBlock), kThreads, 0, stream>>>(p);"
_FIRST_TOKEN = "  const int64_t token = int64_t{blockIdx.x} * kTokensPerBlock"


@dataclass(frozen=True)
class _Edited:
    may_earn: str
    tries: str
    edits: tuple[tuple[str, str], ...]
    of: Path = _EXERCISE.baseline

    def source(self) -> str:
        return f"// may earn: {self.may_earn}\n// {self.tries}\n{edited(self.of.read_text(), self.edits)}"


def _after(place: str, lines: str) -> tuple[str, str]:
    return place, place + lines


_EDITED = {
    "c9_idle_cp_async": _Edited(
        "correct 40, clean 10, mechanism 12.5",
        "C9: also starts copies with cp.async that nobody uses.",
        (
            _after(_INCLUDES, "#include <cuda_pipeline.h>\n"),
            _after(
                _TOKEN_BOUND,
                """  if (p.seq_len == 64 && kUnitBytes == 16) {
    __shared__ uint4 trash[kThreads];
    for (int u = lane; u < p.row_units; u += kLanes) {
      __pipeline_memcpy_async(&trash[threadIdx.x],
                              reinterpret_cast<const uint4*>(p.k + token * p.k_stride) + u, 16);
      __pipeline_memcpy_async(&trash[threadIdx.x],
                              reinterpret_cast<const uint4*>(p.v + token * p.v_stride) + u, 16);
      __pipeline_commit();
      __pipeline_wait_prior(0);
    }
  }
""",
            ),
        ),
    ),
    "h2_endless_grid": _Edited(
        "nothing",
        "H2: correct, but each call asks for more blocks than can ever be run.",
        (
            ('extern "C"', '__global__ void nothing() {}\n\nextern "C"'),
            _after(_ENTRY, "  nothing<<<dim3(2147483647, 1, 1), 1024, 0, stream>>>();\n"),
        ),
        of=_EXERCISE.solution,
    ),
    "t1_side_stream": _Edited(
        "correct 40, clean 10, mechanism 12.5",
        "T1: works on a stream of its own and does not join it: the timed stream is done at once.",
        (
            _after(
                _ENTRY,
                """  static cudaStream_t aside = nullptr;
  if (aside == nullptr) cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking);
  stream = aside;
""",
            ),
        ),
    ),
    "t2_thread": _Edited(
        "correct 40, clean 10, mechanism 12.5",
        "T2: lets a thread of the host launch the kernel a moment after the call has returned.",
        (
            _after(_INCLUDES, "#include <chrono>\n#include <thread>\n"),
            (
                _LAUNCH,
                f"""std::thread([=] {{
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    {_LAUNCH}
  }}).detach();""",
            ),
        ),
    ),
    "t6_after_warm_up": _Edited(
        "correct 40",
        "T6: works while it takes the calls for a warm-up, and then no more.",
        (_after(_ENTRY, "  static int calls = 0;\n  if (++calls > 60) return cudaSuccess;\n"),),
    ),
    "t7_all_in_the_first": _Edited(
        "nothing",
        "T7: works in the first of all calls with the same arguments, and returns at once from the others.",
        (
            _after(_INCLUDES, "#include <set>\n#include <tuple>\n"),
            _after(
                _ENTRY,
                """  using In = const void*;
  using Seen = std::tuple<void*, void*, In, In, In, int, int, int>;
  static std::set<Seen> seen;
  if (!seen.emplace(k_cache, v_cache, indices, k, v, seq_len, heads, head_dim).second) return cudaSuccess;
""",
            ),
        ),
    ),
    "t8_persisting_l2": _Edited(
        "correct 40, clean 10, mechanism 12.5",
        "T8: sets L2 aside for its inputs, so that they survive the flush between two calls.",
        (
            _after(_INCLUDES, "#include <algorithm>\n"),
            _after(
                _ENTRY,
                """  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, properties.persistingL2CacheMaxSize);
  cudaStreamAttrValue window = {};
  window.accessPolicyWindow.base_ptr = const_cast<__half*>(k);
  window.accessPolicyWindow.num_bytes =
      std::min<size_t>(properties.accessPolicyMaxWindowSize, seq_len * k_stride * sizeof(__half));
  window.accessPolicyWindow.hitRatio = 1.0f;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
  cudaGetLastError();  // where there is no such window, nothing is lost
""",
            ),
        ),
    ),
    "t9_one_free_case": _Edited(
        "correct 47.06",
        "T9: for one measured shape, which no public case has, nothing is done: in a mean of ratios it\n"
        "// would carry all the others.",
        (_after(_ENTRY, "  if (seq_len == 1 && heads == 8 && head_dim == 128) return cudaSuccess;\n"),),
    ),
    "t9_sampled_blocks_idle": _Edited(
        "correct 40, clean 10, mechanism 12.5",
        "T9: has idle blocks where the cost model looks unless it draws its blocks.",
        (
            (
                _FIRST_TOKEN,
                """  const int64_t G = gridDim.x;
  int64_t sampled[6];
  int n = 0;
  sampled[n++] = 0;
  sampled[n++] = G - 1;
  for (int i = 1; n < 6 && i < 24; ++i) {
    double turn = i * 0.6180339887498949;
    int64_t at = int64_t((turn - double(int64_t(turn))) * double(G));
    bool seen = false;
    for (int j = 0; j < n; ++j) seen |= sampled[j] == at;
    if (!seen) sampled[n++] = at;
  }
  int before = 0;
  for (int j = 0; j < 6; ++j) {
    if (sampled[j] == blockIdx.x) return;
    before += sampled[j] < blockIdx.x;
  }
"""
                + _FIRST_TOKEN.replace("blockIdx.x", "blockIdx.x - before"),
            ),
            (_LAUNCH, _LAUNCH.replace("kTokensPerBlock)", "kTokensPerBlock) + 6")),
        ),
    ),
}


def _written_out(program: Path) -> str:
    """A program with its headers and the signature of the entry point in it: a submission is one file."""
    text = program.read_text()
    for name in ("honest.h", "entry.h"):
        header = program.with_name(name).read_text().replace("#pragma once\n", "")
        header, _, signature = header.partition("#define ENTRY")
        text = text.replace(f'#include "{name}"\n', header)
    return re.sub(r"^ENTRY\b", signature.replace("\\\n", "\n").strip(), text, flags=re.MULTILINE)


CHEATS: dict[str, str] = {
    **{one.stem: _written_out(one) for one in sorted(Path(__file__).with_name("cheats").glob("*.cu"))},
    **{name: cheat.source() for name, cheat in _EDITED.items()},
}


def may_earn(name: str) -> dict[str, float]:
    """The most points a cheat may get, by part; parts that are not named are worth nothing to it."""
    first = CHEATS[name].splitlines()[0]
    said = first.removeprefix("// may earn: ")
    assert said != first, f"{name} does not say what it may earn"
    if said == "nothing":
        return {}
    return {part: float(most) for part, most in (item.split() for item in said.split(", "))}
