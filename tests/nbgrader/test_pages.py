"""A student's Markdown in formgrader and in feedback runs no code and never fails."""

from __future__ import annotations

import time

import pytest

from grader.nbgrader.showing.markdown import markdown2html


def page(source: str, **pictures: dict[str, str]) -> str:
    return markdown2html({"cell": {"attachments": pictures}}, source)


@pytest.mark.parametrize(
    "target", ["plot.html", "../x", "/tree", "https:plot.html", "//x/plot.html", "javascript:alert(1)"]
)
def test_a_link_to_a_file_that_was_handed_in_leads_nowhere(target):
    """formgrader serves such a file from its own address."""
    assert 'href="#harmful-link"' in page(f"[my plot]({target})")


@pytest.mark.parametrize("target", ["https://docs.nvidia.com/cuda/", "mailto:a@b.c", "#here"])
def test_other_links_stay(target):
    assert f'href="{target}"' in page(f"[this]({target})")


def test_pictures_are_shown_whatever_their_names():
    shown = page("![a](attachment:my%20gr%C3%B6%C3%9Fe.png)", **{"my größe.png": {"image/png": "iVBO"}})
    assert 'src="data:image/png;base64,iVBO"' in shown


def test_a_picture_on_another_machine_is_not_fetched():
    shown = page("![a](https://example.org/who-reads-this.png) ![b](//example.org/b.png) ![c](c.png)")
    assert "<img" not in shown
    assert shown.count("a picture elsewhere is not shown") == 3


def test_a_missing_picture_leaves_the_rest():
    shown = page("before ![a](attachment:<b>plot.svg) after")
    assert "before" in shown
    assert "after" in shown
    assert "plot.svg was not handed in" in shown
    assert "<b>" not in shown


@pytest.mark.parametrize("piece", [r"\begin{a}", r"\\(", r"\\[", "$$a\n", "$a "])
def test_unterminated_formulas_take_little_time(piece):
    begun = time.process_time()
    shown = page(piece * (200_000 // len(piece)))
    assert time.process_time() - begun < 10
    assert piece.strip()[:2] in shown


def test_formulas_of_an_honest_answer_stay():
    assert 'alt="x &lt; y"' in page("so $x < y$ and " * 200)


@pytest.mark.parametrize("source", [r"the work is $4 \cdot B H S^2 D$ here", "then\n\n$$\\frac{o}{l}$$\n"])
def test_formulas_are_drawn_here(source):
    shown = page(source)
    assert 'src="data:image/svg+xml;base64,' in shown
    assert "alt=" in shown
    assert "$" not in shown


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        (r"$\unknowncommand{x}$", r"<code>\unknowncommand{x}</code>"),
        (r"$<script>alert(1)</script>$", "&lt;script&gt;"),
        ("\\begin{align}a &= b\\end{align}", r"\begin{align}a &amp;= b\end{align}"),
        (f"${'x' * 500}$", "x" * 500),
    ],
)
def test_what_cannot_be_drawn_stays_as_it_was_written(source, kept):
    shown = page(source)
    assert kept in shown
    assert "<script>" not in shown


def test_a_page_has_so_many_formulas_drawn_and_no_more():
    shown = page(" ".join(f"$x$ ${number}$" for number in [7] * 400))
    assert (shown.count("<img "), shown.count("<code>")) == (500, 300)
