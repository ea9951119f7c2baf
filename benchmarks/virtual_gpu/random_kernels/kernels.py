"""Makes random kernels as CUDA C++ text. A kernel depends on its seed and number alone.

Every thread has the same variables, filled from its number. Statements assign to them: instructions of the
table, loads and stores, divergent branches and loops, shuffles, votes, barriers, atomics whose end result
no order changes, and calls. At the end a thread folds all its variables into one word.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.virtual_gpu.random_kernels.operations import KINDS, OPERATIONS, Operation

SUPPORT = Path(__file__).resolve().parent / "support.cuh"
KERNELS_PER_FILE = 50
_THREADS = (32, 64, 96, 128)
_FUNCTIONS = 2  # that a kernel may call
_PARAMETERS = "uf"  # kinds of a function's parameters, and its result is the first
_SHARED_TYPES = {"u": "uint32_t", "l": "uint64_t", "w": "uint16_t", "d": "double"}
_SHUFFLED = "ulfd"
_INDENT = "  "
_LIMITS = {"bit": 64, "byte": 256, "word": 1 << 32}  # of random numbers in an operation's text


def file_text(seed: int, numbers: Sequence[int]) -> str:
    """A program that runs these kernels and prints one line for each: its number and a digest."""
    kernels = [Kernel(seed, number) for number in numbers]
    rows = [f"      {{{one.number}, {one.threads}, kernel_{one.number}}}," for one in kernels]
    parts = ['#include "support.cuh"', *(one.text() for one in kernels)]
    return "\n\n".join([*parts, "\n".join(["int main() {", "  return run_all({", *rows, "  });", "}\n"])])


class Kernel:
    def __init__(self, seed: int, number: int) -> None:
        self.number = number
        self._random = random.Random(f"{seed} {number}")
        self.threads = self._random.choice(_THREADS)

    def text(self) -> str:
        functions = [self._function(which) for which in range(_FUNCTIONS)]
        body = _Body(self._random, self._names(), [f"call_{self.number}_{i}" for i in range(_FUNCTIONS)])
        body.statements(self._random.randint(10, 20), depth=0, uniform=True)
        lines = [
            f"__global__ void kernel_{self.number}(Memory memory) {{",
            "  const uint32_t self = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;",
            "  __shared__ uint64_t exchanged[kMostThreads];",
            "  __shared__ uint32_t counts[32];",
            "  if (threadIdx.x < 32) counts[threadIdx.x] = 0;",
            *self._starts(f"self * 64u + {self._random.getrandbits(30)}u"),
            "  uint32_t local[8] = {u0, u1, u2, u3, u4, u5, ~u0, ~u1};",
            "  __syncthreads();",
            *body.lines,
            *self._folds(),
            "  for (uint32_t value : local) sum = folded(sum, value);",
            "  memory.out[self] = sum;",
            "}",
        ]
        return "\n".join([*functions, *lines])

    def _function(self, which: int) -> str:
        """A function that is called, not inlined; it has the parameters and nothing else of its caller."""
        names = {letter: [f"{letter}{i}" for i in range(2)] for letter in "ufwlh"}
        body = _Body(self._random, names, [])
        body.statements(self._random.randint(2, 5), depth=2, uniform=False)
        return "\n".join(
            [
                f"__device__ __noinline__ uint32_t call_{self.number}_{which}(uint32_t u0, float f0) {{",
                "  uint32_t u1 = mixed(u0);",
                "  float f1 = moderate_f(u1);",
                "  uint64_t l0 = u0, l1 = ~uint64_t(u1);",
                "  uint16_t w0 = uint16_t(u1), w1 = uint16_t(u0), h0 = moderate_h(u0), h1 = moderate_h(u1);",
                *body.lines,
                "  return u0 ^ bits_f(f0) ^ uint32_t(l0) ^ w0 ^ bits_h(h0) ^ u1;",
                "}\n",
            ]
        )

    def _names(self) -> dict[str, list[str]]:
        return {letter: [f"{letter}{i}" for i in range(kind.count)] for letter, kind in KINDS.items()}

    def _starts(self, seed: str) -> list[str]:
        lines, at = [], 0
        for letter, kind in KINDS.items():
            for i in range(kind.count):
                number = f"start_{'l' if letter in 'ld' else 'u'}({seed} + {at}u)"
                if letter in "ulw":
                    value = f"{kind.type}({number})"
                elif self._random.random() < 0.5:
                    value = f"moderate_{letter}(uint32_t({number}))"
                else:
                    value = f"from_bits_{letter}({number})"
                lines.append(f"  {kind.type} {letter}{i} = {value};")
                at += 1
        return lines

    def _folds(self) -> list[str]:
        names = [(letter, name) for letter, names in self._names().items() for name in names]
        folds = [f"  sum = folded(sum, bits_{letter}({name}));" for letter, name in names]
        return ["  uint64_t sum = 0;", *folds]


class _Body:
    """Statements, one after the other. `uniform` means that all threads of a block come here together."""

    def __init__(self, rng: random.Random, names: dict[str, list[str]], functions: Sequence[str]) -> None:
        self.lines: list[str] = []
        self._random = rng
        self._names = names
        self._functions = functions
        self._operations = [
            one
            for one in OPERATIONS
            if one.result in names and all(letter in names for letter in one.operands)
        ]
        self._fresh = 0
        self._level = 1
        self._in_kernel = bool(functions)

    def statements(self, count: int, *, depth: int, uniform: bool) -> None:
        for _ in range(count):
            self._statement(depth, uniform)

    def _statement(self, depth: int, uniform: bool) -> None:
        choices: list[tuple[float, Callable[[], None]]] = [(24, self._operation)]
        if depth < 3:
            choices += [(2.0, lambda: self._branch(depth)), (1.5, lambda: self._loop(depth))]
            choices += [(0.7, lambda: self._switch(depth))]
        if self._in_kernel:
            choices += [
                (1.5, self._table),
                (2, self._local),
                (1, self._scratch),
                (1, self._call),
                (1, self._atomic),
            ]
        if uniform:
            choices += [(3, self._shuffle), (2, self._vote), (1.5, self._divergent_shuffle)]
            choices += [(2, self._exchange), (1, self._count)]
            if depth < 2:
                choices.append((1, lambda: self._uniform_loop(depth)))
        weights, makers = zip(*choices, strict=True)
        self._random.choices(makers, weights)[0]()

    def _operation(self) -> None:
        one = self._random.choice(self._operations)
        self._add(assignment(one, self._any(one.result), [self._any(x) for x in one.operands], self._random))

    def _branch(self, depth: int) -> None:
        self._add(f"if ({self._condition()}) {{")
        self._inside(self._random.randint(1, 4), depth)
        if self._random.random() < 0.6:
            self._add("} else {")
            self._inside(self._random.randint(1, 4), depth)
        self._add("}")

    def _loop(self, depth: int) -> None:
        """As many rounds as a thread's own number says, with a way out or round in the middle."""
        i = self._name("i")
        rounds = f"({self._any('u')} & {self._random.choice((1, 3, 7))}u) + {self._random.randint(0, 1)}u"
        self._add(f"for (uint32_t {i} = 0, end = {rounds}; {i} < end; ++{i}) {{")
        self._inside(self._random.randint(1, 3), depth)
        if self._random.random() < 0.5:
            way = self._random.choice(("break", "continue"))
            self._add(f"{_INDENT}if ({self._condition()}) {way};")
            self._inside(1, depth)
        self._add("}")

    def _uniform_loop(self, depth: int) -> None:
        i = self._name("i")
        self._add(f"for (int {i} = 0; {i} < {self._random.randint(2, 4)}; ++{i}) {{")
        self._inside(self._random.randint(1, 4), depth, uniform=True)
        self._add("}")

    def _switch(self, depth: int) -> None:
        cases = self._random.randint(3, 6)
        self._add(f"switch ({self._any('u')} % {cases + 1}u) {{")
        for case in range(cases):
            self._add(f"case {case}: {{")
            self._inside(self._random.randint(1, 2), depth)
            self._add("}" if self._random.random() < 0.3 else "} break;")
        self._add("}")

    def _table(self) -> None:
        self._add(f"{self._any('u')} = memory.table[{self._any('u')} & (kTable - 1)];")

    def _local(self) -> None:
        index = f"local[{self._any('u')} & 7]"
        if self._random.random() < 0.5:
            self._add(f"{index} = {self._any('u')};")
        else:
            self._add(f"{self._any('u')} = {index};")

    def _scratch(self) -> None:
        """Sixteen bytes in one store, read back in parts."""
        values = ", ".join(self._any("u") for _ in range(4))
        self._add(f"memory.scratch[self] = make_uint4({values});")
        letter, type = self._random.choice(
            (("u", "uint8_t"), ("u", "int8_t"), ("w", "uint16_t"), ("l", "uint64_t"))
        )
        parts = {"uint8_t": 16, "int8_t": 16, "uint16_t": 8, "uint64_t": 2}[type]
        at = f"reinterpret_cast<const {type}*>(memory.scratch + self)[{self._any('u')} & {parts - 1}]"
        self._add(f"{self._any(letter)} = {KINDS[letter].type}({at});")

    def _call(self) -> None:
        arguments = f"({self._any('u')}, {self._any('f')})"
        if self._random.random() < 0.5:
            self._add(f"{self._any('u')} = {self._random.choice(self._functions)}{arguments};")
            return
        which = self._name("which")
        first, second = self._functions
        self._add(f"uint32_t (*const {which})(uint32_t, float) = {self._condition()} ? {first} : {second};")
        self._add(f"{self._any('u')} = {which}{arguments};")

    def _atomic(self) -> None:
        """Each operation has words of its own, so that the end result is the same in any order."""
        bucket = f"({self._any('u')} & 3)"
        u, wide_value = self._any("u"), self._any("l")
        wide = "reinterpret_cast<unsigned long long*>(memory.sums)"
        narrow = "reinterpret_cast<uint32_t*>(memory.sums)"
        double = "reinterpret_cast<double*>(memory.sums)"
        signed = "reinterpret_cast<int*>(memory.sums)"
        self._add(
            self._random.choice(
                (
                    f"atomicAdd({wide} + {bucket}, {wide_value});",
                    f"atomicMax({wide} + 4 + {bucket}, {wide_value});",
                    f"atomicXor({wide} + 8 + {bucket}, {wide_value});",
                    f"atomicOr({wide} + 12 + {bucket}, {wide_value});",
                    f"atomicAdd({narrow} + 32 + {bucket}, {u});",
                    f"atomicMax({narrow} + 36 + {bucket}, {u});",
                    f"atomicMin({signed} + 40 + {bucket}, int({u}));",
                    f"atomicMax({signed} + 44 + {bucket}, int({u}));",
                    f"atomicInc({narrow} + 48 + {bucket}, 21u);",
                    f"atomicDec({narrow} + 52 + {bucket}, 1000u);",
                    f"atomicXor({narrow} + 56 + {bucket}, {u});",
                    # Sums of small whole numbers are exact.
                    f"atomicAdd(reinterpret_cast<float*>(memory.sums) + 64 + {bucket}, float({u} & 15));",
                    f"atomicAdd({double} + 36 + {bucket}, double({u} & 0xffff));",
                )
            )
        )

    def _shuffle(self) -> None:
        letter = self._random.choice(_SHUFFLED)
        width = self._random.choice((4, 8, 16, 32, 32, 32))
        name, by = self._random.choice(
            (
                ("__shfl_sync", f"int({self._any('u')} & 31)"),
                ("__shfl_up_sync", f"{self._any('u')} & {width - 1}"),
                ("__shfl_down_sync", f"{self._any('u')} & {width - 1}"),
                ("__shfl_xor_sync", str(self._random.randint(1, width - 1))),
            )
        )
        value = self._any(letter)
        if letter == "l":
            value = f"static_cast<unsigned long long>({value})"
        self._add(f"{self._any(letter)} = {name}(~0u, {value}, {by}, {width});")

    def _vote(self) -> None:
        u = self._any("u")
        votes = (
            f"__ballot_sync(~0u, {self._condition()})",
            f"uint32_t(__any_sync(~0u, {self._condition()}))",
            f"uint32_t(__all_sync(~0u, {self._condition()}))",
            f"__match_any_sync(~0u, {u} & {self._random.choice((1, 3, 7))}u)",
            *(f"__reduce_{name}_sync(~0u, {u})" for name in ("add", "min", "max", "and", "or", "xor")),
            *(f"uint32_t(__reduce_{name}_sync(~0u, int({u})))" for name in ("min", "max")),
        )
        self._add(f"{self._any('u')} = {self._random.choice(votes)};")

    def _divergent_shuffle(self) -> None:
        """Among the lanes that take a branch, whose mask they know before."""
        goes, mask = self._name("goes"), self._name("mask")
        self._add(f"const bool {goes} = {self._condition()};")
        self._add(f"const uint32_t {mask} = __ballot_sync(~0u, {goes});")
        self._add(f"if ({goes}) {{")
        u = self._any("u")
        shuffle = f"__shfl_sync({mask}, {u}, lane_of({mask}, {self._any('u')}))"
        reduce = f"__reduce_{self._random.choice(('add', 'max', 'xor'))}_sync({mask}, {u})"
        match = f"__match_any_sync({mask}, {u} & 3)"
        self._add(f"{_INDENT}{self._any('u')} = {self._random.choice((shuffle, reduce, match))};")
        self._inside(self._random.randint(1, 2), 2)
        self._add("}")

    def _exchange(self) -> None:
        """Through shared memory: barriers lie before the stores and between them and the loads."""
        letter = self._random.choice(tuple(_SHARED_TYPES))
        place = f"reinterpret_cast<{_SHARED_TYPES[letter]}*>(exchanged)"
        other = self._random.choice(
            (
                "(threadIdx.x ^ 1)",
                "(blockDim.x - 1 - threadIdx.x)",
                f"((threadIdx.x + {self._random.randint(1, 31)}) % blockDim.x)",
                f"({self._any('u')} % blockDim.x)",
            )
        )
        self._add("__syncthreads();")
        self._add(f"{place}[threadIdx.x] = {self._any(letter)};")
        self._add("__syncthreads();")
        self._add(f"{self._any(letter)} = {place}[{other}];")

    def _count(self) -> None:
        """Shared atomics, read when all have added, and counted on from there."""
        bucket, one = f"counts[{self._any('u')} & 31]", self._random.choice(("1u", self._any("u")))
        self._add("__syncthreads();")
        self._add(f"atomicAdd(&{bucket}, {one});")
        self._add("__syncthreads();")
        votes = (f"uint32_t(__syncthreads_count({self._condition()}))", f"counts[{self._any('u')} & 31]")
        self._add(f"{self._any('u')} = {self._random.choice(votes)};")

    def _inside(self, count: int, depth: int, *, uniform: bool = False) -> None:
        self._level += 1
        self.statements(count, depth=depth + 1, uniform=uniform)
        self._level -= 1

    def _condition(self) -> str:
        u, v = self._any("u"), self._any("u")
        conditions = [
            f"({u} & {self._random.choice((1, 2, 3, 4, 8))}u) == 0",
            f"{u} < {v}",
            f"int32_t({u}) > int32_t({v})",
            f"{self._any('f')} < {self._any('f')}",
            f"{self._any('l')} % 3u == 0",
        ]
        if self._in_kernel:
            conditions += [
                f"lane < {self._random.randint(1, 31)}u",
                "threadIdx.x % 3 == 0",
                "blockIdx.x == 0",
            ]
        return self._random.choice(conditions)

    def _any(self, letter: str) -> str:
        return self._random.choice(self._names[letter])

    def _name(self, stem: str) -> str:
        self._fresh += 1
        return f"{stem}_{self._fresh}"

    def _add(self, line: str) -> None:
        self.lines.append(_INDENT * self._level + line)


def assignment(one: Operation, target: str, operands: Sequence[str], rng: random.Random) -> str:
    """One statement that performs an operation."""
    if not one.is_ptx:
        text = one.text
        for place, name in enumerate(operands, 1):
            text = text.replace(f"${place}", name)
        return f"{target} = {text};"
    numbers = _Numbers(rng)
    ptx = one.text.format_map(numbers)
    inputs = ", ".join(
        f'"{KINDS[x].constraint}"({name})' for x, name in zip(one.operands, operands, strict=True)
    )
    return f'asm("{ptx}" : "={KINDS[one.result].constraint}"({target}) : {inputs});'


class _Numbers(dict[str, str]):
    """A random number for each place where a text asks for one."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self._random = rng

    def __missing__(self, name: str) -> str:
        return str(self._random.randrange(_LIMITS[name]))
