"""No submission can move its findings and diagnostics to another file or line."""

from __future__ import annotations

import time

import pytest

from common.build.program import Target
from grader.building.build import build
from grader.building.line_directives import line_directive
from grader.spec import registry


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('#line 1 "other.cu"\n', 1),
        ("int a;\n  #  line 7\n", 2),
        ('int a;\n# 12 "x.cu" 3\n', 2),
        ('%:line 3 "x"\n', 1),
        ('\ufeff#line 3 "x"\n', 1),
        ("/* a\n b */ #line 3\n", 2),
        ("# /* a\n b */ line 3\n", 1),
        ('auto a = R"()";\n# /* a\n b */ line 3\n', 2),
        ("int a;\n#li\\\nne 3\n", 2),
        ("int a;\\  \n\n#line 3\n", 3),
        ("int a;\r\n#line 3\r\n", 2),
        ("int a;\r#line 3\r", 2),
        ('auto a = "/*";\n#line 3\nauto b = "*/";\n', 2),
        ('auto a = \'"\';\n#line 3 "x"\n', 2),
        ("int a = 1'000 + 2'000; char c = '\"'; /*\n*/\n#line 3\n", 3),
        ('auto a = R"("/*)";\n#line 3\n/* */\n', 2),
        ("#if 0\ndon't /*\n#endif\n#line 3\n// */\n", 4),
        ("// a \\\n b /*\n#line 3\n// */", 3),
        ('auto a = "\\\\\n\n/* " /*\n#line 3\n*/ " */ ";\n#line 3\n', 6),
    ],
)
def test_a_directive_is_found_however_it_is_written(text, line):
    assert line_directive(text) == line


@pytest.mark.parametrize(
    "text",
    [
        "#pragma unroll\n#include <cstdint>\n#define line 3\n",
        "// #line 3\n",
        "/* steps:\n # 1 read\n # 2 write\n#line 3 */\n",
        'auto a = "\\n#line 3";\n',
        "#define TEXT(x) #x\n",
        "#lines\n",
        "int a = 1'000; /*\n#line 3\n*/ char c = '\\'';\n",
    ],
)
def test_other_text_is_left_alone(text):
    assert line_directive(text) is None


def test_a_hostile_text_takes_no_longer_than_another():
    for piece in ("/*\n", "/**/", "*/", "*/ ", "\\\n", '"', "'", 'R"(\n#/*', " ", "#\n", "1'"):
        started = time.process_time()
        line_directive(piece * ((1 << 20) // len(piece)))
        assert time.process_time() - started < 5, piece


def test_the_reference_has_no_line_directive():
    exercise = registry.find("01")
    for path in (exercise.solution, exercise.baseline, exercise.starter, *exercise.variants()):
        assert line_directive(path.read_text()) is None


def test_a_submission_with_one_is_refused_at_its_line(tmp_path):
    source = tmp_path / "kernel.cu"
    source.write_text('extern "C" int entry() { return 0; }\n#line 1 "other.cu"\nint other = nothing;\n')
    built = build(source, Target.virtual())
    assert built.library is None
    [diagnostic] = built.diagnostics
    assert (diagnostic.file, diagnostic.line, diagnostic.severity) == (str(source), 2, "error")
    assert "#line" in diagnostic.message
    assert "remove" in (diagnostic.hint or "")
