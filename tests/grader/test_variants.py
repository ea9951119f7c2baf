"""Which files beside a solution are timed and tested as its variants."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from grader.bench.bench import kernels_of
from grader.spec import registry

ENTRY = 'extern "C" int\n    fused_store_kv_async(const void* k) {\n  return 0;\n}\n'


def test_a_file_with_the_exercises_entry_point_is_a_variant(tmp_path: Path) -> None:
    files = {
        "kernel.cu": ENTRY,
        "another.cu": ENTRY,
        "a_piece.cu": ENTRY.replace("fused_store_kv_async", "fused_store_kv_async_begin"),
        "caller.cu": "int main() { return fused_store_kv_async(nullptr); }",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    exercise = dataclasses.replace(registry.find("01"), solution=tmp_path / "kernel.cu")
    assert [path.name for path in exercise.variants()] == ["another.cu"]


def test_decoding_is_no_variant_of_attention() -> None:
    exercise = registry.find("05")
    assert exercise.solution.with_name("decode.cu").is_file()
    assert "decode" not in kernels_of(exercise)


def test_the_other_exercises_variants_are_all_there() -> None:
    found = {name: len(list(registry.find(name).variants())) for name in ("01", "02", "03")}
    assert found == {"01": 6, "02": 3, "03": 3}
