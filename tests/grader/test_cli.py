"""The command line: usage, errors as one line, and which arguments go to `run` and which to the program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.gpu.devices import Gpu, find_gpus, parse_gpus
from grader import cli
from grader.actions import doctor as doctor_action
from grader.actions.doctor import examine
from grader.actions.run import selected_checks
from grader.cli.machine import doctor
from grader.cli.machine import test as suite
from grader.cli.student import run
from grader.course import environment
from grader.spec import registry
from tests import needs


def course(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grader", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)


def test_usage_lists_every_verb_with_its_sentence(capsys):
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}" in shown and verb.summary in shown for name, verb in cli.VERBS.items())
    assert cli.main([]) == 2


@pytest.mark.parametrize(
    "words", [("06", "no.cu", "--step", "1"), ("06", "--step", "1", "no.cu"), ("--step", "1", "06", "no.cu")]
)
def test_a_file_may_stand_before_options_and_behind_them(words):
    assert "there is no file no.cu" in course("check", *words).stderr


def test_an_unknown_verb_is_a_sentence_with_a_guess(capsys):
    assert cli.main(["docter"]) == 2
    assert "there is no verb 'docter'; did you mean 'doctor'?" in capsys.readouterr().err


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_explains_itself(verb):
    answer = course(verb, "--help")
    assert answer.returncode == 0
    assert f"./course {verb}" in answer.stdout


@pytest.mark.parametrize(
    ("line", "ours", "theirs"),
    [
        ("k.cu", "k.cu", ""),
        ("k.cu 3 -v --size 5", "k.cu", "3 -v --size 5"),
        ("--device gpu k.cu 3", "--device gpu k.cu", "3"),
        ("k.cu 3 --device gpu 4", "k.cu --device gpu", "3 4"),
        ("k.cu --json=out.json -DN=4 -I inc 3", "k.cu --json=out.json -DN=4 -I inc", "3"),
        ("k.cu -- --device 0 -DN", "k.cu", "--device 0 -DN"),
        ("-- k.cu --device 0", "k.cu", "--device 0"),
        ("k.cu a -- b -- c", "k.cu", "a b -- c"),
        ("k.cu other.cu host.cpp plain.c 3", "k.cu other.cu host.cpp plain.c", "3"),
        ("k.cu 3 other.cu", "k.cu other.cu", "3"),
        ("k.cu made.o libours.a -- other.cu", "k.cu made.o libours.a", "other.cu"),
        ("k.cu -lm -L lib -l ours 3", "k.cu -lm -L lib -l ours", "3"),
        ("k.cu --nvcc -rdc=true --nvcc=-std=c++20 3", "k.cu --nvcc=-rdc=true --nvcc=-std=c++20", "3"),
        ("k.cu --max-seconds 5 3", "k.cu --max-seconds 5", "3"),
        ("k.cu --help", "k.cu", "--help"),
        ("--unknown k.cu", "--unknown k.cu", ""),
        ("k.cu --device", "k.cu --device", ""),
    ],
)
def test_run_knows_its_own_arguments_from_the_programs(line, ours, theirs):
    assert run.split_arguments(line.split()) == (ours.split(), theirs.split())


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ("nowhere.cu --device virtual", 125, "there is no source file nowhere.cu"),
        ("nowhere.cu --device moon", 2, "--device is 'moon'; it may be"),
        ("", 2, "FILE.cu is missing"),
        ("k.cu --device", 2, "--device needs a value: --device virtual or gpu"),
        (
            "k.cu --device virtual --checks race,rice",
            125,
            "there is no check 'rice'; the checks are memory, race",
        ),
        ("k.cu --device virtual --json /nowhere/out", 125, "cannot write /nowhere/out"),
        ("k.cu --max-seconds soon", 2, "--max-seconds: 'soon' is not a number above 0"),
    ],
)
def test_a_wrong_run_is_a_sentence(arguments, status, sentence):
    answer = course("run", *arguments.split())
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.returncode == status


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("profile 01 --plot", "--plot needs a value: --plot OUT.png"),
        ("check", "NN is missing"),
        ("check 01 a.cu b.cu", "b.cu: no such option, or one argument too many"),
        ("check 01 --device moon", "--device is 'moon'; it may be"),
        ("check 01 --json=3", "--json takes no value, but got '3'"),
        ("grade --jobs some", "--jobs: 'some' is not a whole number above 0"),
        ("grade --jobs 0", "--jobs: '0' is not a whole number above 0"),
        ("grade --wall-seconds -1", "--wall-seconds: '-1' is not a number above 0"),
        ("grade --wall-seconds soon", "--wall-seconds: 'soon' is not a number above 0"),
    ],
)
def test_a_wrong_command_line_is_one_error_line(line, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(line.split())
    printed = capsys.readouterr().err
    assert printed.startswith(f"error: {sentence}")
    assert f"`./course {line.split()[0]} --help` shows the options." in printed
    assert ended.value.code == 2


def test_without_a_gpu_asking_for_one_is_a_sentence(monkeypatch):
    monkeypatch.setattr(run, "first_gpu", lambda: (_ for _ in ()).throw(CourseError("no CUDA GPU was found")))
    with pytest.raises(CourseError, match="no CUDA GPU was found"):
        run.main(["k.cu", "--device", "gpu"])


def test_checks_can_be_chosen_and_left_out():
    def chosen(only: str | None, *without: str) -> set[str]:
        return {name for name, on in selected_checks(only, list(without)).items() if on}

    assert chosen(None) == {"memory", "race", "init", "sync", "async"}
    assert chosen(None, "init", "race") == {"memory", "sync", "async"}
    assert chosen("race,global_race") == {"race", "global_race"}
    assert chosen("none") == set()


def test_doctor_reports_every_section_as_text_and_as_json(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CLASS", str(tmp_path))  # there is no class: it would have a section
    status = doctor.main(["--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] == (status == 0)
    assert list(report["sections"]) == list(examine({}))
    by_name = {fact["name"]: fact for facts in report["sections"].values() for fact in facts}
    assert {
        "python",
        "torch",
        "nvcc",
        "g++",
        "ninja",
        "GPU",
        "virtual GPU",
        "Landlock",
        "seccomp",
    } <= by_name.keys()
    assert all(fact["cost"] for fact in by_name.values() if fact["state"] != "ok"), "each lack has its price"
    doctor.main([])
    assert by_name["nvcc"]["detail"] in capsys.readouterr().out


def test_doctor_names_the_command_that_installs_an_extra(monkeypatch):
    monkeypatch.setattr(environment, "missing_packages", lambda group: ["optuna"])
    monkeypatch.setattr(environment, "is_own", lambda: True)
    assert (
        doctor_action._group("tune", ["tune", "test"]).cost
        == "installed when first needed, by `./course tune` or `./course test`"
    )
    monkeypatch.setattr(environment, "is_own", lambda: False)
    assert "pip install -r requirements/tune.txt" in doctor_action._group("tune", []).cost


def test_doctor_warns_of_a_cpu_torch_beside_a_gpu(monkeypatch):
    monkeypatch.setattr(doctor_action, "find_gpus", lambda: (Gpu("NVIDIA H200", "90", "580.1"),))
    monkeypatch.setattr(doctor_action, "_torch_cuda", lambda: None)
    assert "CPU-only torch beside a GPU" in doctor_action._torch().cost


@pytest.mark.parametrize(("machine", "noted"), [("aarch64", True), ("x86_64", False)])
def test_doctor_notes_a_missing_sys_where_torch_needs_it(monkeypatch, tmp_path, machine, noted):
    monkeypatch.setattr(doctor_action, "_PROCESSORS", tmp_path / "possible")
    monkeypatch.setattr(doctor_action.platform, "machine", lambda: machine)
    costs = [fact.cost for fact in doctor_action._machine()]
    assert any("Mount /sys" in cost for cost in costs) is noted


def test_doctor_fails_only_for_what_every_command_needs(monkeypatch, capsys):
    monkeypatch.setenv("COURSE_NVCC", "/nowhere/nvcc")
    assert doctor.main([]) == 1
    assert "missing: nvcc" in capsys.readouterr().out


def test_gpus_are_read_from_the_drivers_table(tmp_path, monkeypatch):
    table = "NVIDIA H200, 9.0, 580.159.04\nNVIDIA L4, 8.9, 580.159.04\n"
    assert [gpu.cc for gpu in parse_gpus(table)] == ["90", "89"]
    assert parse_gpus("No devices were found\n") == ()
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<END\n{table}END\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    find_gpus.cache_clear()
    assert find_gpus()[0] == Gpu("NVIDIA H200", "90", "580.159.04")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    find_gpus.cache_clear()
    assert find_gpus() == ()
    find_gpus.cache_clear()


def step(name: str, text: str, *, aside: bool = False) -> suite.Step:
    return suite.Step(name, lambda _: [sys.executable, "-c", text], aside=aside)


@pytest.mark.parametrize("aside", [False, True])
def test_a_failing_step_hides_no_later_one_and_a_missing_tool_is_named(monkeypatch, capfd, aside):
    steps = (
        step(
            "first", "import sys; print('why it failed', file=sys.stderr); raise SystemExit(4)", aside=aside
        ),
        suite.Step("absent", lambda _: None),
        step("last", "print('the last step ran')"),
    )
    monkeypatch.setattr(suite, "STEPS", steps)
    monkeypatch.setattr(suite, "install_browser_driver", lambda: "")
    assert suite.main([]) == 1
    both = capfd.readouterr()
    shown = both.out
    assert "the last step ran" in shown
    assert "why it failed" in shown + both.err
    assert "FAILED (exit status 4)" in shown
    assert "skipped: not installed here" in shown
    monkeypatch.setattr(suite, "STEPS", steps[1:])
    assert suite.main([]) == 0


def pytest_arguments(*arguments: str) -> list[str]:
    command = suite._pytest([*arguments])
    assert command is not None
    return command[3:]


def test_without_arguments_the_tests_run_on_all_cores_and_the_slowest_are_shown():
    for arguments in ([], ["--quick"]):
        command = pytest_arguments(*arguments)
        assert "-n" in command
        assert "--durations=20" in command


def test_quick_leaves_out_every_marker_there_is():
    *_, option, expression = pytest_arguments("--quick")
    assert option == "-m"
    assert all(f"{marker}" in expression for marker in needs.MARKERS)
    assert pytest_arguments("--quick", "tests/grader")[-1] == "tests/grader"


def test_other_arguments_are_pytests_own():
    assert pytest_arguments("-m", "root", "-x") == ["-m", "root", "-x"]


def test_every_source_file_has_a_format_check():
    command = suite._clang_format([])
    assert command is not None
    assert all((REPOSITORY / file).is_file() for file in command if Path(file).suffix in (".cu", ".cpp"))


def test_every_exercise_is_type_checked_under_a_name_that_a_package_can_have():
    command = suite._mypy_exercises([])
    assert command is not None
    links = {Path(argument).name: REPOSITORY / argument for argument in command[3:]}
    for folder in registry.exercise_folders():
        assert links[f"exercise_{folder.name}"].resolve() == folder
    tests = {path.resolve() for path in links["exercise_tests"].iterdir()}
    assert REPOSITORY / "tests" / "exercises" / "01_kv_store" in tests
