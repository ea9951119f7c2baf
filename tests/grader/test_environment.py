"""What is installed into .venv and when, with a pip that only writes down what it was asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import cli
from grader.course import environment

NO_CPU_BUILD = "ERROR: No matching distribution found for torch==2.13.0+cpu"


class Machine:
    """Our own environment, empty, without a GPU. `answers`: pip's failures, by a word of the command."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.asked: list[list[str]] = []
        self.answers: dict[str, str] = {}
        self.gpu = False
        patch.setattr(environment, "VENV", folder)
        patch.setattr(environment, "is_own", lambda: True)
        patch.setattr(environment, "has_nvidia_gpu", lambda: self.gpu)
        patch.setattr(environment, "pip_install", self._install)

    def _install(self, arguments: list[str], what: str, *, packages: int, unless: str = "") -> bool:
        assert packages > 0
        self.asked.append(arguments)
        failure = next((text for word, text in self.answers.items() if word in " ".join(arguments)), "")
        if failure and (not unless or unless not in failure):
            raise environment.InstallError(f"pip could not {what}. It said:\n{failure}")
        return bool(failure)

    def files(self) -> list[list[str]]:
        """The groups, or else the packages, that each run of pip was asked for."""
        return [
            [Path(word).stem for word in command if word.endswith(".txt")] or [command[-1]]
            for command in self.asked
        ]


@pytest.fixture
def machine(monkeypatch, tmp_path):
    return Machine(monkeypatch, tmp_path)


def test_everything_but_torch_comes_in_one_run_with_hashes_and_nothing_to_resolve(machine):
    environment.install(["base", "torch", "wheels"])
    assert machine.files() == [["base", "wheels"], ["torch==2.13.0+cpu"]]
    assert "--require-hashes" in machine.asked[0]
    assert all(environment.is_installed(group) for group in ("base", "torch", "wheels"))


def test_beside_a_gpu_torch_is_the_locked_build(machine):
    machine.gpu = True
    environment.install(["base", "torch"])
    assert machine.files() == [["base", "torch"]]


def test_where_the_index_has_no_cpu_build_the_size_is_said_before_the_other_is_pulled(machine, capsys):
    machine.answers["+cpu"] = NO_CPU_BUILD
    environment.install(["torch"])
    assert machine.files() == [["torch==2.13.0+cpu"], ["torch"]]
    said = capsys.readouterr().err
    assert "offers no CPU build of torch 2.13.0" in said
    assert " GB)" in said
    assert "PIP_EXTRA_INDEX_URL" in said


def test_another_failure_of_pip_does_not_count_as_a_missing_build(machine):
    machine.answers["+cpu"] = "ERROR: No space left on device"
    with pytest.raises(environment.InstallError, match=r"torch for CPUs(?s:.*)No space left on device"):
        environment.install(["torch"])
    assert len(machine.asked) == 1
    assert not environment.is_installed("torch")


def test_a_changed_file_is_installed_again(machine, monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "REQUIREMENTS", tmp_path / "requirements")
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "tune.txt").write_text("optuna==5.0.0\n")
    environment.ensure(["tune"])
    environment.ensure(["tune"])
    assert machine.files() == [["tune"]]
    (tmp_path / "requirements" / "tune.txt").write_text("optuna==5.0.1\n")
    environment.ensure(["tune"])
    assert machine.files() == [["tune"], ["tune"]]


def test_a_command_continues_if_its_extra_cannot_be_installed(machine, capsys):
    machine.answers["tune.txt"] = "ERROR: no network"
    environment.ensure(["tune"])
    assert "warning: pip could not install tune" in capsys.readouterr().err


def test_in_another_python_nothing_is_installed_and_missing_packages_are_named(machine, monkeypatch, capsys):
    monkeypatch.setattr(environment, "is_own", lambda: False)
    monkeypatch.setattr(environment, "_has", lambda name: name != "optuna")
    environment.ensure(["test", "tune"])
    assert machine.asked == []
    assert capsys.readouterr().err.startswith("note: this Python has no optuna (optuna, to search tunables).")


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [(["tune", "05"], [("tune",)]), (["tune", "--help"], []), (["list"], [])],
)
def test_a_verb_gets_what_it_needs_when_it_is_used(monkeypatch, arguments, needs, capsys):
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(environment, "ensure", seen.append)
    monkeypatch.setattr(cli.importlib, "import_module", lambda name: type("Verb", (), {"main": lambda _: 0}))
    assert cli.main(arguments) == 0
    assert seen == needs


def test_a_student_bundle_offers_no_tools_and_asks_for_none(machine, monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "REQUIREMENTS", tmp_path)
    (tmp_path / "base.txt").write_text("numpy==2.4.6\n")
    assert environment.offered() == ["base"]
    environment.ensure(["test"])
    assert machine.asked == []


def test_every_need_of_a_verb_is_a_group():
    for verb in cli.VERBS.values():
        assert set(verb.needs) <= set(environment.GROUPS)


def test_a_set_up_that_is_stopped_ends_with_a_sentence(machine, monkeypatch, capsys):
    def stop(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "pip_install", stop)
    assert environment.main(["base"]) == 130
    assert capsys.readouterr().err.endswith("stopped: the next ./course goes on with the set-up\n")
