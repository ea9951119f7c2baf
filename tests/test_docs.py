"""The pages in docs/ and the answers show what the code and the committed measurements give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.documents.make_figures import figures
from benchmarks.documents.make_tables import COMMAND, PAGES, remade
from common.core.paths import REPOSITORY


@pytest.mark.parametrize("page", PAGES)
def test_tables_and_sample_outputs_are_fresh(page: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(REPOSITORY)
    text = (REPOSITORY / page).read_text()
    assert remade(text) == text, f"{page} is stale: run {COMMAND}"


def pages_with_links() -> list[Path]:
    return sorted(
        path for folder in ("docs", "solutions/*", ".") for path in REPOSITORY.glob(f"{folder}/*.md")
    )


@pytest.mark.parametrize("page", pages_with_links(), ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(("path", "text"), figures().items(), ids=list(figures()))
def test_figures_show_the_stages_and_packages_that_there_are(path: str, text: str):
    assert (REPOSITORY / path).read_text() == text, "run python -m benchmarks.documents.make_figures"
