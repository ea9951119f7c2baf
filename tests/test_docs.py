"""The pages in docs/ show what the code and the committed measurements give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from common.cache import REPOSITORY
from docs.make_tables import DOCS, PAGES, remade

ADVICE = "run python -m docs.make_tables"


@pytest.mark.parametrize("page", PAGES)
def test_tables_and_sample_outputs_are_fresh(page: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(REPOSITORY)
    text = (DOCS / page).read_text()
    assert remade(text) == text, f"docs/{page} is stale: {ADVICE}"


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.glob("*.md")), REPOSITORY / "README.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
