"""`profile()` as a notebook shows it: totals, the roofline, what bounds it, and the source as a heat map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from common.virtual_gpu.report import Launch
from grader.notebook.seen import Seen
from grader.notebook.views.display import Display, code_cell, heading
from grader.notebook.views.line_costs import MEASURES
from grader.notebook.views.pictures import picture
from grader.notebook.views.roofline import CAPTION, roofline
from grader.render.pages.markup import Child, Markup, joined, table, tag
from grader.render.profile import launch_table, source_table
from grader.words import numbers

_CONTEXT = 1  # lines shown around one that costs something
_MOST_LINES = 400
_MOST_LAUNCHES = 20


class ProfileView(Display):
    """The costs of one call. `seen` has the engine's whole report."""

    def __init__(self, seen: Seen, show: str) -> None:
        self.seen = seen
        if not seen.launches:
            sentence = f"{seen.title}: no kernel was launched in this call, so there is nothing to count"
            super().__init__(sentence, tag("p", sentence, class_="bad"))
            return
        text = "\n".join(
            (seen.title, seen.time_words, launch_table(seen.launches), source_table(seen.source, seen.lines))
        )
        super().__init__(text, *_body(seen, show))


def _body(seen: Seen, show: str) -> Iterable[Child]:
    launch = seen.longest
    yield tag("h3", seen.title)
    if seen.wrong:
        warning = f"Its answer is wrong here, so the figures may mislead: {seen.wrong.rstrip('.')}."
        warning += " Fix that first: check()"
        yield tag("p", warning, class_="bad")
    yield tag("p", seen.time_words)
    yield launches_table(seen.launches)
    yield heading("Traffic")
    yield traffic_table(launch)
    yield heading("What bounds it, modelled")
    yield _bounds(launch)
    yield heading("Roofline, modelled")
    yield picture(roofline(seen), CAPTION)
    yield heading(f"Cost by line, coloured by {MEASURES[show].heading}")
    yield heat_map(seen, show)


def launches_table(launches: Sequence[Launch]) -> Markup:
    rows = [
        (
            numbers.short_kernel(launch.kernel)[:120],
            " × ".join(map(str, launch.grid)),
            " × ".join(map(str, launch.block)),
            f"{launch.registers}{' (estimated)' if launch.registers_estimated else ''}",
            numbers.size(launch.static_shared + launch.dynamic_shared),
            f"{launch.occupancy.fraction:.0%}, limited by {launch.occupancy.limiter}",
            numbers.seconds(launch.modelled_seconds),
        )
        for launch in launches[:_MOST_LAUNCHES]
    ]
    columns = ("kernel", "grid", "block", ">registers", ">shared", "occupancy", ">modelled, cold")
    return table(columns, rows)


# Name, counter of requests, counter of parts, unit of a part.
_TRAFFIC = (
    ("global loads", "global_load_requests", "global_load_sectors", "sectors"),
    ("global stores", "global_store_requests", "global_store_sectors", "sectors"),
    ("global atomics", "global_atomic_requests", "global_atomic_sectors", "sectors"),
    ("cp.async", "async_requests", "async_sectors", "sectors"),
    ("bulk loads", "bulk_load_requests", "bulk_load_sectors", "sectors"),
    ("bulk stores", "bulk_store_requests", "bulk_store_sectors", "sectors"),
    ("shared loads", "shared_load_requests", "shared_load_wavefronts", "wavefronts"),
    ("shared stores", "shared_store_requests", "shared_store_wavefronts", "wavefronts"),
    ("spills", "local_load_requests", "local_load_sectors", "sectors"),
)


def traffic_table(launch: Launch) -> Markup:
    rows = []
    for name, asked, parts, unit in _TRAFFIC:
        if requests := getattr(launch.counters, asked):
            total = getattr(launch.counters, parts)
            rows.append((name, f"{requests:,}", f"{total:,} {unit}", f"{total / requests:.2f}"))
    for shape, count in launch.counters.wgmma_by_shape.items():
        rows.append((f"wgmma {shape}", f"{count:,}", "", ""))
    rows.append(("active lanes", "", "", f"{launch.counters.active_lanes:.1f} of 32"))
    return table(("", ">requests", ">in all", ">per request"), rows)


def _bounds(launch: Launch) -> Markup:
    """Each bound separately; the longest limits the kernel."""
    terms = sorted(((s, name) for name, s in launch.cost.terms.items() if s > 0), reverse=True)
    most = terms[0][0] if terms else 1.0
    rows = [
        (
            name,
            numbers.seconds(seconds),
            tag("div", class_="bar", style=f"width: {16 * seconds / most:.2f}em"),
        )
        for seconds, name in terms
    ]
    sentence = tag("p", launch.cost.sentence) if launch.cost.sentence else None
    return joined((sentence, table(("bound", ">time", ""), rows)))


def heat_map(seen: Seen, show: str) -> Markup:
    """The lines with costs and their neighbours; the reddest has most of the chosen measure."""
    columns = {name: values for name, measure in MEASURES.items() if (values := measure.read(seen))}
    chosen = columns.get(show, {})
    most = max(chosen.values(), default=0.0)
    text = seen.source.split("\n")
    rows = [_header(list(columns))]
    before = 0
    for line in _shown({line for values in columns.values() for line in values}, len(text)):
        if before and line > before + 1:
            rows.append(tag("tr", tag("td", "⋮", class_="number faint")))
        before = line
        warmth = 0.6 * chosen.get(line, 0.0) / most if most else 0.0
        cells = [tag("td", _figure(columns[name], line, name), class_="number") for name in columns]
        code = tag(
            "td",
            code_cell(text[line - 1]),
            class_="code",
            style=f"background: rgba(var(--heat), {warmth:.3f})",
        )
        rows.append(tag("tr", tag("td", str(line), class_="number faint"), *cells, code))
    meaning = "; ".join(f"{MEASURES[name].heading}: {MEASURES[name].meaning}" for name in columns)
    legend = f"{meaning}. Colour by another measure with show=, one of {', '.join(MEASURES)}."
    listed = tag("div", tag("table", tag("tbody", *rows), class_="source"), class_="wide")
    return joined((listed, tag("p", legend, class_="faint")))


def _header(names: Sequence[str]) -> Markup:
    cells = [tag("th", MEASURES[name].heading, class_="number") for name in names]
    return tag("tr", tag("th", "line", class_="number"), *cells, tag("th", "source"))


def _shown(costly: set[int], length: int) -> list[int]:
    near = {line + step for line in costly for step in range(-_CONTEXT, _CONTEXT + 1)}
    return sorted(line for line in near if 1 <= line <= length)[:_MOST_LINES]


def _figure(values: Mapping[int, float], line: int, name: str) -> str:
    return format(values[line], MEASURES[name].form) if line in values else ""
