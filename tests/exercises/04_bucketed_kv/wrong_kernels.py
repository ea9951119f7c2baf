"""Mistakes that students make in exercise 04, each as an edit of the solution; and ways to do less than was
asked for, which no answer survives that is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from tests.exercises.wrong_kernel import Wrong


@dataclass(frozen=True)
class Mistake(Wrong):
    """`part` is the step that must fail, or "correct" for the whole; the last of its `cases` shows it, and
    the others are right. With a `kind`, a finding of that kind must name the line."""

    cases: tuple[str, ...] = ()
    kind: str = ""


_LOOK = "if (is_visible(job, split, split.begin + chunk * kKeys + key)) {"
_ENTRY = "split.begin + chunk * kKeys + key"
_SHUFFLE = "if (step < lanes) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));"

MISTAKES: dict[str, Mistake] = {
    "scale stride transposed": Mistake(
        old="info.score_scale = scale_at(staged_scales, key, scale_bytes) * score_scale;",
        new="const Bucket& read = job.buckets[split.bucket];\n"
        f"        const int64_t entry = split.sequence * read.capacity + {_ENTRY};\n"
        "        const int64_t at = entry * job.kv_heads + split.head;\n"
        "        info.score_scale = scale_at(read.key_scales, at, scale_bytes) * score_scale;",
        more=(
            (
                "info.value_scale = scale_at(staged_scales, kKeys + key, scale_bytes);",
                "info.value_scale = scale_at(read.value_scales, at, scale_bytes);",
            ),
        ),
        cases=("20 tokens",),
        words="scales are read with entries and heads exchanged",
    ),
    "mask by bucket position": Mistake(
        old=_LOOK,
        new=f"if ({_ENTRY} < split.end && (job.mask == nullptr ||\n"
        f"          job.mask[split.sequence * job.mask_stride + {_ENTRY}] != 0)) {{",
        cases=("20 tokens", "a mask"),
        words="the mask is looked up by an entry's place in its bucket, not by its slot",
    ),
    "no rescale across buckets": Mistake(
        old="const float factor = power_of_2(mine[i].reference - finite(stats.reference));",
        new="const float factor = 1;",
        cases=("one token", "20 tokens"),
        words="are too far off",
    ),
    "no rescale in the merge": Mistake(
        old="const float factor = expf(max[place] - origin);",
        new="const float factor = 1;",
        more=(("* expf(max[int64_t{part} * rows + row] - origin);", ";"),),
        part="merge",
        cases=("one part", "two parts"),
        words="none is rescaled",
    ),
    "full-mask shuffle with head_dim 80": Mistake(
        old="  // Both loads are on their way before anything waits for either.\n",
        new="  if (share.eights == 0) return;\n",
        part="quantise",
        cases=("heads of 80",),
        line=_SHUFFLE,
        kind="sync",
    ),
    "rounding ties": Mistake(
        old="const float sum = fminf(fmaxf(quotient, lowest), highest) + (kWhole - lowest);",
        new="const float sum = roundf(fminf(fmaxf(quotient, lowest), highest)) + (kWhole - lowest);",
        part="quantise",
        cases=("heads of 128",),
        words="halves are rounded away from zero, not to the even level",
    ),
    "3-bit straddling heads": Mistake(
        old="uint8_t* to = row + 2 * share.part * kBits;",
        new="uint8_t* to = row + 2 * share.part * (kBits == 3 ? 4 : kBits);",
        part="quantise",
        cases=("8 bits", "3 bits"),
        words="keys_3[",
    ),
    "signed shift in unpacking": Mistake(
        old="const int stored = static_cast<int>(packed >> bits * i & ((1 << bits) - 1));",
        new="const int stored =\n"
        "        static_cast<int>(static_cast<int64_t>(packed << (64 - bits * (i + 1))) >> (64 - bits));",
        part="change widths",
        cases=("8 bits to 4 and back",),
        words="elements are wrong",
    ),
    "shared-memory race between tiles": Mistake(
        old="      attend(warp + i * kWarps, stage(i));\n      __syncwarp();\n",
        new="      attend(warp + i * kWarps, stage(i));\n",
        part="attend",
        cases=("a long bucket",),
        line="copy_16_bytes_async(to + 16 * Rows::key_piece(lane | 32 * i), keys + 512 * i);",
        kind="async",
    ),
    "no rescale of the outputs": Mistake(
        old="      rescale_outputs(factors);\n",
        new="",
        part="attend",
        cases=("8 keys of 8 bits", "a long bucket"),
        words="too far off",
    ),
    "no rescale of the sum": Mistake(
        old="    stats[i].sum *= factor;\n",
        new="",
        cases=("20 tokens", "64 heads, keys that stand out"),
        words="are too far off",
    ),
    "missing split merge": Mistake(
        old="for (int part = warp; part < job.parts; part += kWarps) {",
        new="for (int part = warp; part < job.parts - 1; part += kWarps) {",
        cases=("one token", "one token in each bucket"),
        words="are too far off",
    ),
    "default stream": Mistake(
        old="attention_kernel<kHeads><<<blocks, kThreads, 0, stream>>>(plan, job, results);",
        new="attention_kernel<kHeads><<<blocks, kThreads>>>(plan, job, results);",
        cases=("20 tokens",),
        reason="not on its stream",
        words="stream",
    ),
    "values' scale forgotten": Mistake(
        old="(a * infos[16 * sixteen].value_scale, b * infos[16 * sixteen + 8].value_scale);",
        new="(a, b);",
        cases=("20 tokens",),
        words="the values' scales are forgotten",
    ),
    "NaN where there is no key": Mistake(
        old="__float2half_rn(total > 0 ? value / total : 0.0f)",
        new="__float2half_rn(value / total)",
        part="merge",
        cases=("two parts", "parts without keys"),
        words="is nan, which no answer here can be",
    ),
    "chunks that have not landed": Mistake(
        old="wait_for_copies<kStages - 1>();",
        new="wait_for_copies<kStages>();",
        part="attend",
        cases=("3 bits",),
        line="info.score_scale = scale_at(staged_scales, key, scale_bytes) * score_scale;",
        kind="async",
    ),
    "counters left as they are": Mistake(
        old="shared.last = atomicInc(&counters[split.sequence * job.kv_heads + split.head], last) == last;",
        new="shared.last = atomicAdd(&counters[split.sequence * job.kv_heads + split.head], 1u) == last;",
        cases=("20 tokens",),
        reason="input changed",
        words="counters must hold after the call what it held before",
    ),
    "slots stay behind": Mistake(
        old="    to.slots[move.sequence * to.capacity + move.to_entry] =\n"
        "        from.slots[move.sequence * from.capacity + move.from_entry];\n",
        new="",
        part="change widths",
        cases=("all widths",),
        words="slots are not written",
    ),
}

CHEATS: dict[str, Mistake] = {
    "a subset of the keys, rescaled": Mistake(
        old="const Split split = split_of(plan, job, blockIdx.x);",
        new="Split split = split_of(plan, job, blockIdx.x);\n"
        "  if (split.part % 4 == 3) split.end = split.begin;",
        cases=("one token", "a longer context"),
        words="are too far off",
    ),
    "fewer bits than asked": Mistake(
        old="    int products[kProducts][kUnits][4] = {};\n",
        new="    if (kBits == 8)\n"
        "      for (int i = 0; i < 8; ++i) {\n"
        "        low[i] = (low[i] & 0xf0f0f0f0) | 0x08080808;\n"
        "        high[i] = (high[i] & 0xf0f0f0f0) | 0x08080808;\n"
        "      }\n"
        "    int products[kProducts][kUnits][4] = {};\n",
        cases=("all tokens have 4 bits", "all tokens have 8 bits"),
        words="are too far off",
    ),
    "one plane of the queries": Mistake(
        old="whole[0][j] = 256 * product(0, 2 * j) + (product(0, 2 * j + 1) - offset[0]);",
        new="whole[0][j] = 256 * (product(0, 2 * j) - offset[0] / 256);",
        cases=("a longer context",),
        words="are too far off",
    ),
}


def rounds() -> list[tuple[str, ...]]:
    """Names that can share a file, which saves most of the compiling: one of attention, one of the tokens'
    own kernels and one of the merge."""
    lanes: dict[str, list[str]] = {"attention": [], "tokens": [], "merge": []}
    lane_of = {"quantise": "tokens", "change widths": "tokens", "merge": "merge"}
    for name, mistake in (MISTAKES | CHEATS).items():
        lanes[lane_of.get(mistake.part, "attention")].append(name)
    return [tuple(filter(None, together)) for together in zip_longest(*lanes.values())]
