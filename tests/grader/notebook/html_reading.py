"""Reads an answer's HTML as a browser would begin to: what elements there are, and what text."""

from __future__ import annotations

from html.parser import HTMLParser

from grader.notebook.views.display import Display

_VOID = {"img", "br", "hr", "meta"}
HARMLESS = set("div style p h3 h4 span b table thead tbody tr th td pre details summary ul li".split())
HARMLESS |= {"figure", "figcaption", "img"}


class Read(HTMLParser):
    """The elements with their attributes, the text, and whether everything that was opened was closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def texts(self, tag: str, name: str = "") -> int:
        """How many elements of that tag there are, with that class."""
        return sum(
            t == tag and (not name or name in (a.get("class") or "").split()) for t, a in self.elements
        )


def read(shown: Display) -> Read:
    """The answer's HTML: only elements that load and run nothing, no handler, no address but pictures."""
    html = shown._repr_html_()
    found = Read(html)
    for tag, attributes in found.elements:
        assert tag in HARMLESS, tag
        assert not any(name.startswith("on") or name == "href" for name in attributes), attributes
        assert (attributes.get("src") or "data:image/png").startswith("data:image/png")
    assert len(html) < 1_500_000
    return found
