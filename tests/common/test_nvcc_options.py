"""nvcc's command line is read as nvcc reads it: options with their values, and input files."""

from __future__ import annotations

import pytest

from common.build.hints import hint_for
from common.build.nvcc.options import absent_libraries, is_runtime, link_words, read_nvcc_line
from common.core.errors import CourseError


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ("-arch=sm_90", "arch", "sm_90"),
        ("-arch sm_90", "arch", "sm_90"),
        ("--gpu-architecture=sm_90", "arch", "sm_90"),
        ("-gencode arch=compute_80,code=sm_80", "gencode", "arch=compute_80,code=sm_80"),
        ("-Iinclude", "I", "include"),
        ("-I include", "I", "include"),
        ("--include-path=include", "I", "include"),
        ("-O3", "O", "3"),
        ("-lm", "l", "m"),
        ("-lineinfo", "lineinfo", None),
        ("--generate-line-info", "lineinfo", None),
        ("-rdc=true", "rdc", "true"),
        ("-dc", "dc", None),
        ("--device-link", "dlink", None),
        ("-MD", "MD", None),
        ("-MF out.d", "MF", "out.d"),
        ("-Xcompiler -fopenmp,-Wall", "Xcompiler", "-fopenmp,-Wall"),
        ("--compiler-options=-fopenmp", "Xcompiler", "-fopenmp"),
        ("--expt-relaxed-constexpr", "expt-relaxed-constexpr", None),
    ],
)
def test_an_option_has_its_short_name_and_its_value(written, name, value):
    line = read_nvcc_line([*written.split(), "file.cu"])
    [option] = line.options
    assert (option.name, option.value, line.inputs) == (name, value, ("file.cu",))
    assert line.words() == written.split()


def test_an_option_without_its_value_is_a_sentence():
    with pytest.raises(CourseError, match="-arch needs a value"):
        read_nvcc_line(["a.cu", "-arch"])


def test_the_linker_gets_what_is_for_it_and_no_library_of_nvidias():
    words = "-O3 -Xcompiler -fopenmp,-g -Llib -lours -lcudart -lcuda -lcublas -Xlinker -z,now a.o"
    line = read_nvcc_line(words.split())
    assert link_words(line) == "-fopenmp -g -Llib -lours -Xlinker -z -Xlinker now".split()
    assert absent_libraries(line) == ""
    on_gpu = link_words(line, on_virtual=False)
    assert on_gpu == "-fopenmp -g -Llib -lours -lcuda -lcublas -Xlinker -z -Xlinker now".split()
    assert absent_libraries(read_nvcc_line(["-lcudart", "-lcudahelpers"])) == ""


@pytest.mark.parametrize(
    "word", ["-lcudart", "-lcudart_static", "/x/libcudart.so", "/x/libcudadevrt.a", "-lcuda"]
)
def test_nvidias_runtime_library_is_known_in_every_spelling(word):
    assert is_runtime(word)
    assert not is_runtime(word.replace("cuda", "my"))


def test_nvrtc_is_linked_where_it_is_there(monkeypatch, tmp_path):
    library = tmp_path / "libnvrtc.so.13"
    monkeypatch.setattr("common.build.nvcc.nvrtc.find_nvrtc", lambda: library)
    line = read_nvcc_line(["a.cu", "-lnvrtc", "-lcuda"])
    assert link_words(line) == [str(library), f"-Wl,-rpath,{tmp_path}"]
    assert absent_libraries(line) == ""


def test_where_nvrtc_is_missing_one_sentence_names_the_wheel(monkeypatch):
    monkeypatch.setattr("common.build.nvcc.nvrtc.find_nvrtc", lambda: None)
    line = read_nvcc_line(["a.cu", "-lnvrtc", "-lcuda"])
    assert link_words(line) == []
    assert "nvidia-cuda-nvrtc" in absent_libraries(line)
    assert "nvidia-cuda-nvrtc" in str(hint_for("fatal error: nvrtc.h: No such file or directory"))
