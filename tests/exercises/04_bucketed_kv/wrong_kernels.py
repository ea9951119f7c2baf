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
_KEY_SCALE = "info.score_scale = scale_at(staged_scales, key, scale_bytes) * score_scale;"
_KEY_SCALE_OF_VALUE = "info.score_scale = scale_at(staged_scales, kKeys + key, scale_bytes) * score_scale;"
_VALUE_SCALE = "info.value_scale = scale_at(staged_scales, kKeys + key, scale_bytes);"
_VALUE_SCALE_OF_KEY = "info.value_scale = scale_at(staged_scales, key, scale_bytes);"
_PUT = "words[bits * i / 32] += (__float_as_uint(sum) - kWholeBits) << bits * i % 32;"
_SCALE = "float scale = most == 0 ? 1.0f : most / levels;"
_NORMALISED = "__float2half_rn(total > 0 ? value / total : 0.0f)"

MISTAKES: dict[str, Mistake] = {
    "scale stride transposed": Mistake(
        old=_KEY_SCALE,
        new="const Bucket& read = job.buckets[split.bucket];\n"
        f"        const int64_t entry = split.sequence * read.capacity + {_ENTRY};\n"
        "        const int64_t at = entry * job.kv_heads + split.head;\n"
        "        info.score_scale = scale_at(read.key_scales, at, scale_bytes) * score_scale;",
        more=(
            (
                _VALUE_SCALE,
                "info.value_scale = scale_at(read.value_scales, at, scale_bytes);",
            ),
        ),
        cases=("20 tokens",),
        words="scales are read with entries and heads exchanged",
    ),
    "a bucket's offsets in 32 bits": Mistake(
        old="const int64_t first = first_entry(job, split) + split.begin + warp * kKeys;",
        new="const auto first = static_cast<uint32_t>(first_entry(job, split)) + split.begin + warp * kKeys;",
        cases=("20 tokens", "all tokens have 8 bits", "heads past 2^32 bytes"),
        words="offsets in a bucket wrap at 32 bits",
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
        old="  // Both loads are in flight before anything waits for either.\n",
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
        words="].keys[",
    ),
    "signed shift in unpacking": Mistake(
        old="const int stored = static_cast<int>(packed >> bits * i & ((1 << bits) - 1));",
        new="const int stored =\n"
        "        static_cast<int>(static_cast<int64_t>(packed << (64 - bits * (i + 1))) >> (64 - bits));",
        part="change widths",
        cases=("8 bits to 4 and back",),
        words="stored elements are read as signed numbers, but are never negative",
    ),
    "shift of 32 bits": Mistake(
        old="packed = uint64_t{words[1]} << 32 | words[0];",
        new="packed = static_cast<uint64_t>(static_cast<int>(words[0]));",
        part="quantise",
        cases=("8 bits",),
        words="the shift of an element has 32 bits: eight elements of 8 bits need 64",
    ),
    "offset kept in unpacking": Mistake(
        old="static_cast<float>(stored - stored_offset(bits)) * scale;",
        new="static_cast<float>(stored) * scale;",
        part="change widths",
        cases=("8 bits to 4 and back",),
        words="the offset 2^(bits - 1) of stored elements is not subtracted",
    ),
    "shuffle among two heads": Mistake(
        old="if (step < lanes)",
        new="if (step <= lanes)",
        part="quantise",
        cases=("8 bits",),
        words="the largest element is looked for in two heads",
    ),
    "scale rounded after the division": Mistake(
        old="    scale = __half2float(__float2half_rn(fminf(fmaxf(scale, kSmallest), kLargest)));\n",
        new="    scale = fminf(fmaxf(scale, kSmallest), kLargest);\n",
        part="quantise",
        cases=("fp16 scales",),
        words="a scale that is not rounded to half precision yet",
    ),
    "shared-memory race between tiles": Mistake(
        old="      attend(warp + i * kWarps, stage(i));\n      __syncwarp();\n",
        new="      attend(warp + i * kWarps, stage(i));\n",
        part="scores",
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
        old=_NORMALISED,
        new="__float2half_rn(value / total)",
        part="merge",
        cases=("two parts", "parts without keys"),
        words="but must be a finite number. It looks like this: a row without keys is NaN",
    ),
    "chunks that have not landed": Mistake(
        old="wait_for_copies<kStages - 1>();",
        new="wait_for_copies<kStages>();",
        part="scores",
        cases=("3 bits",),
        line=_KEY_SCALE,
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
    "offset not added": Mistake(
        old=_PUT,
        new="words[bits * i / 32] += ((__float_as_uint(sum) - kWholeBits - stored_offset(bits)) &\n"
        "                            ((1u << bits) - 1)) << bits * i % 32;",
        part="quantise",
        cases=("a token of 8 bits",),
        words="It looks like this: the offset 2^(bits - 1) is not added to the levels",
    ),
    "three bits stored as four": Mistake(
        old=_PUT,
        new="const int at = (bits == 3 ? 4 : bits) * i;\n"
        "    words[at / 32] += (__float_as_uint(sum) - kWholeBits) << at % 32;",
        more=(
            (
                "packed = uint64_t{words[1]} << 32 | words[0];",
                "packed = (uint64_t{words[1]} << 32 | words[0]) & (bits == 3 ? 0xffffff : ~uint64_t{0});",
            ),
        ),
        part="quantise",
        cases=("8 bits", "4 bits", "2 bits", "3 bits"),
        words="elements of 3 bits are packed 4 bits apart: eight of them are 3 bytes",
    ),
    "no shuffle": Mistake(
        old=_SHUFFLE,
        new="",
        part="quantise",
        cases=("heads of 8", "heads of 128"),
        words="the largest element is looked for among 16 neighbours, not in the whole head",
    ),
    "half of the lanes": Mistake(
        old=_SHUFFLE,
        new=_SHUFFLE.replace("step < lanes", "step < lanes / 2"),
        part="quantise",
        cases=("heads of 8", "heads of 128"),
        words="the largest element is looked for among 64 neighbours, not in the whole head",
    ),
    "no shuffle with the next lane": Mistake(
        old=_SHUFFLE,
        new=_SHUFFLE.replace("step < lanes", "step > 1 && step < lanes"),
        part="quantise",
        cases=("heads of 8", "heads of 80"),
        words="the largest element is looked for in every other lane, of 16 elements each",
    ),
    "zeros divided by zero": Mistake(
        old=_SCALE,
        new="float scale = most / levels;",
        part="quantise",
        cases=("heads of 128",),
        words="a head of zeros has a scale of 0, not of 1, and 0 / 0 is no level",
    ),
    "a scale of zero": Mistake(
        old=_SCALE,
        new="float scale = most / levels;",
        more=(("const float inverse = 1 / scale,", "const float inverse = scale == 0 ? 0 : 1 / scale,"),),
        part="quantise",
        cases=("heads of 128",),
        words="It looks like this: a head of zeros has a scale of 0, not of 1",
    ),
    "zeros in half precision": Mistake(
        old=_SCALE,
        new="float scale = most == 0 && !half_scale ? 1.0f : most / levels;",
        part="quantise",
        cases=("heads of 128", "fp16 scales"),
        words="a head of zeros has the smallest scale there is, not 1",
    ),
    "no clamp": Mistake(
        old="fminf(fmaxf(quotient, lowest), highest) + (kWhole - lowest);",
        new="quotient + (kWhole - lowest);",
        part="quantise",
        cases=("heads of 128", "fp16 scales"),
        words="elements",
    ),
    "a scale that half precision rounds to zero": Mistake(
        old="__float2half_rn(fminf(fmaxf(scale, kSmallest), kLargest))",
        new="__float2half_rn(scale)",
        part="quantise",
        cases=("heads of 128", "fp16 scales"),
        words="elements are wrong",
    ),
    "a scale that half precision rounds to infinity": Mistake(
        old="fminf(fmaxf(scale, kSmallest), kLargest)",
        new="fmaxf(scale, kSmallest)",
        part="change widths",
        cases=("the largest fp16 scales",),
        words="elements are wrong",
    ),
    "the highest score with the key's scale for its value's": Mistake(
        old="highest[i] = fmaxf(highest[i], score + info.log_value_scale);",
        new="highest[i] = fmaxf(highest[i], score + info.score_scale);",
        part="attend",
        cases=("a long bucket of the largest values",),
        words="must be a finite number",
    ),
    "the old bucket's capacity for the new one": Mistake(
        old="to_row = heads * to.capacity + move.to_entry;",
        new="to_row = heads * from.capacity + move.to_entry;",
        part="change widths",
        cases=("a move",),
        words="had to stay as they were",
    ),
    "a product with the inverse": Mistake(
        old="const float quotient = fmaf(fmaf(-scale, near, values.of[i]), inverse, near);",
        new="const float quotient = near;",
        part="quantise",
        cases=("in the order of the tokens",),
        words="elements are multiplied by 1 / scale, which is rounded: divide by the scale",
    ),
    "offset of the keys": Mistake(
        old="offset[i] = shared.planes.sum[kMine * t + i] * stored_offset(kBits) * Rows::kUnit;",
        new="offset[i] = 0;",
        part="scores",
        cases=("8 keys of 8 bits",),
        words="the offset of the keys' stored elements is not subtracted",
    ),
    "offset of the values": Mistake(
        old="factor * (units - stored_offset(kBits) * weight[i]);",
        new="factor * units;",
        part="attend",
        cases=("8 keys of 8 bits",),
        words="the offset of the values' stored elements is not subtracted",
    ),
    "keys' scales for the values": Mistake(
        old=_VALUE_SCALE,
        new=_VALUE_SCALE_OF_KEY,
        part="attend",
        cases=("8 keys of 8 bits",),
        words="the values are multiplied by the keys' scales",
    ),
    "values' scales for the keys": Mistake(
        old=_KEY_SCALE,
        new=_KEY_SCALE_OF_VALUE,
        part="scores",
        cases=("8 keys of 8 bits",),
        words="the keys are multiplied by the values' scales",
    ),
    "scales swapped": Mistake(
        old=_KEY_SCALE,
        new=_KEY_SCALE_OF_VALUE,
        more=((_VALUE_SCALE, _VALUE_SCALE_OF_KEY),),
        part="attend",
        cases=("4 bits",),
        words="the keys' and the values' scales are swapped",
    ),
    "a maximum in powers of two": Mistake(
        old="results.max[row] = stats.most * static_cast<float>(M_LN2);",
        new="results.max[row] = stats.most;",
        part="max and sum",
        cases=("no keys", "a key"),
        words="max is a power of 2, log2(e) times too large: multiply it by ln 2",
    ),
    "scores as powers of two": Mistake(
        old="head_dim, scale * static_cast<float>(M_LN2));",
        new="head_dim, scale);",
        part="scores",
        cases=("no keys", "a key"),
        words="the scores are powers of 2, log2(e) times too large",
    ),
    "a mask by place in the scores": Mistake(
        old=_LOOK,
        new=f"if ({_ENTRY} < split.end && (job.mask == nullptr ||\n"
        f"          job.mask[split.sequence * job.mask_stride + {_ENTRY}] != 0)) {{",
        part="scores",
        cases=("8 keys of 8 bits", "a mask"),
        words="the mask is looked up by an entry's place in its bucket, not by its slot",
    ),
    "a sum relative to zero": Mistake(
        old="results.sum[row] = stats.sum * factor;",
        new="results.sum[row] = stats.sum * power_of_2(finite(stats.reference));",
        part="max and sum",
        cases=("no keys", "a key"),
        words="the sum is relative to 0, not to max",
    ),
    "warps' sums added as they are": Mistake(
        old="stats.sum += of_warp[row].sum * power_of_2(of_warp[row].reference - finite(stats.reference));",
        new="stats.sum += of_warp[row].sum;",
        part="max and sum",
        cases=("a key", "keys that stand out"),
        words="too far off",
    ),
    "warps' outputs left out": Mistake(
        old="for (int warp = 0; warp < kWarps; ++warp) value += outputs[warp * elements + i];",
        new="value = outputs[i];",
        part="attend",
        cases=("8 keys of 8 bits", "3 bits"),
        words="too far off",
    ),
    "outputs not rescaled in the merge": Mistake(
        old="if (factor > 0) value += factor * outputs[place * head_dim + d];",
        new="if (factor > 0) value += outputs[place * head_dim + d];",
        part="merge",
        cases=("one part", "two parts"),
        words="the parts' sums are rescaled to the highest maximum, but not their outputs",
    ),
    "sums not rescaled in the merge": Mistake(
        old="* expf(max[int64_t{part} * rows + row] - origin);",
        new=";",
        part="merge",
        cases=("one part", "two parts"),
        words="the parts' outputs are rescaled to the highest maximum, but not their sums",
    ),
    "-inf less -inf in the merge": Mistake(
        old="const float origin = finite(highest);",
        new="const float origin = highest;",
        more=((_NORMALISED, "__float2half_rn(value / total)"),),
        part="merge",
        cases=("two parts", "parts without keys"),
        words="a row without keys is NaN: its highest maximum is -inf",
    ),
    "what lies in a part without keys": Mistake(
        old="if (factor > 0) value += factor * outputs[place * head_dim + d];",
        new="value += factor * outputs[place * head_dim + d];",
        part="merge",
        cases=("two parts", "parts without keys"),
        words="parts without keys are added times 0, but their outputs may hold NaN",
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
    "a reference of -infinity": Mistake(
        old="const float origin = finite(stats[i].reference);",
        new="const float origin = stats[i].reference;",
        part="max and sum",
        cases=("everything hidden",),
        words="the sum of a row without keys is NaN: its reference is -inf",
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
