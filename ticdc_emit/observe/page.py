"""One HTML page of what was sent, read or tested: what is wrong, tables, and a sample of messages as lanes.

In: a :class:`Page` of texts, which may be hostile. Out: HTML and SVG below :data:`MOST_BYTES`, by ``page.html``, which
need no script and ask for nothing; what would be larger shows less and says so.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from ticdc_emit.config.secrets import printable
from ticdc_emit.hints import counted

MOST_BYTES = 100_000  # and a page is smaller
KINDS = ("insert", "update", "delete", "ddl", "watermark", "bootstrap", "unreadable")
PASSED, FAILED, NOT_APPLICABLE = "passed", "failed", "not applicable"
_STATES = {PASSED: ("ok", "✓ "), FAILED: ("bad", "✗ "), NOT_APPLICABLE: ("dim", "– ")}


@dataclass(frozen=True)
class PageMessage:
    """A message. ``lane``: ``topic/partition``. ``kind``: one of :data:`KINDS`. ``marks``: why it is the guilty one, or
    what else was found at it.
    """

    lane: str
    offset: int
    kind: str
    text: str = ""
    commit_ts: int | None = None
    marks: Sequence[str] = ()


@dataclass(frozen=True)
class PageTable:
    """A table of texts. ``marked``: (row, column) of cells that differ from another table's. A row of one cell is the
    heading of those below it; :data:`PASSED`, :data:`FAILED` and :data:`NOT_APPLICABLE` have their colours and signs.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    marked: Collection[tuple[int, int]] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """``summary``: what came out, in a sentence; ``good``: whether that is as it should be, if it is a question.
    ``problems``: what is wrong with no message shown. ``tables``: facts, totals, behaviours, those expected and found.
    ``messages``: in order, ``total``: how many there are, if these are some of them. ``note``: which order that is, or
    why there are none.
    """

    title: str
    summary: str = ""
    good: bool | None = None
    problems: Sequence[str] = ()
    tables: Sequence[PageTable] = ()
    messages: Sequence[PageMessage] = ()
    total: int | None = None
    note: str = ""

    def html(self) -> str:
        """Return the page, below :data:`MOST_BYTES` in UTF-8."""
        template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
        for share in (1, 0.6, 0.4, 0.25, 0.12, 0.05, 0.02):
            page = template.substitute(_Parts(self, share).parts())
            if len(page.encode()) < MOST_BYTES:
                break
        return page


def nearest(marked: Iterable[int], count: int, most: int) -> list[int]:
    """Return ``most`` of the places below ``count``: the nearest to marked ones, without any the first and the last."""
    places = sorted(marked)[:most] or [0, count - 1]

    def distance(place: int) -> int:
        at = bisect(places, place)
        return min(abs(place - each) for each in places[max(at - 1, 0) : at + 1])

    return sorted(sorted(range(count), key=distance)[:most])


_COLUMN, _LANE, _TOP = 22, 32, 44  # pixels; page.html has the last two, too
_LETTER, _CALLOUT = 7, 90  # pixels of one, and how many there may be
_MARKS = 3  # of a message


class _Parts:
    """The parts of a page's template. ``share``: how much of what can be shown is shown, up to 1."""

    def __init__(self, page: Page, share: float) -> None:
        self._page, self._hints = page, share == 1
        self._rows, self._columns = int(200 * share), max(int(20 * share), 3)
        self._longest, self._content = (300 if share > 0.1 else 40), max(int(300 * share), 40)
        marked = (number for number, each in enumerate(page.messages) if each.marks)
        self._shown = [page.messages[at] for at in nearest(marked, len(page.messages), int(400 * share))]
        lanes = {each.lane for each in self._shown}
        self._lanes = sorted(lanes, key=lambda lane: (lane.rpartition("/")[0], len(lane), lane))

    def parts(self) -> dict[str, object]:
        page, shown, total = self._page, len(self._shown), self._page.total or len(self._page.messages)
        around = " around the marked ones" if any(each.marks for each in self._shown) else ""
        tables = [*map(self._table, page.tables[: self._columns]), _more(page.tables, self._columns, "table")]
        return {
            "title": self._text(page.title),
            "found": "".join(self._found()),
            "tables": "".join(tables),
            "note": f"<h2>Messages</h2><p>{self._text(page.note)}" if page.note or shown else "",
            "hidden": "" if shown else "hidden",
            "sample": f"A sample of {shown:,} of {total:,} messages{around}" if shown < total else "All messages",
            "names": "".join(f"<li><bdi>{self._text(lane)}</bdi>" for lane in self._lanes),
            "width": max(_COLUMN * shown + 12, _LETTER * _CALLOUT * bool(around)),
            "height": _TOP + _LANE * len(self._lanes) + 6,
            "drawing": "".join(self._drawing()),
            "list": "".join(self._list()),
        }

    def _text(self, value: object, most: int = 0) -> str:
        """Return a text as HTML, in at most 6 bytes for each of its first characters."""
        whole, most = str(value), most or self._longest
        return escape(printable(whole if len(whole) <= most else f"{whole[: most - 1]}…"))

    def _found(self) -> Iterator[str]:
        if self._page.summary:
            sign = {True: "<p class=ok>✓ ", False: "<p class=bad>✗ ", None: "<p>"}[self._page.good]
            yield f"{sign}{self._text(self._page.summary)}</p>"
        found = [f"<li>{self._text(each)}" for each in self._page.problems]
        for number, each in enumerate(self._shown):
            link = f"<li><a href=#g{number}>{self._text(f'{each.lane}@{each.offset}')}</a>"
            found += [f"{link} {self._text(mark)}" for mark in each.marks[:_MARKS]]
        if found:
            yield f"<h2>Found</h2><ol>{''.join(found[: self._rows])}</ol>{_more(found, self._rows, 'finding')}"

    def _table(self, table: PageTable) -> str:
        title, width = self._text(table.title), len(table.head) or 2
        parts = [f"<th scope=col>{self._text(name)}" for name in table.head[: self._columns]]
        for row in nearest((row for row, _ in table.marked), len(table.rows), self._rows):
            cells = table.rows[row]
            parts.append("<tr>" if len(cells) > 1 else f"<tr><th colspan={width} scope=rowgroup>{self._text(cells[0])}")
            for column, cell in enumerate(cells[: self._columns] if len(cells) > 1 else ()):
                style, sign = ("x", "≠ ") if (row, column) in table.marked else _STATES.get(str(cell), ("p", ""))
                parts.append(f"<td class={style}>{sign}{self._text(cell)}")
        box = f'<div class=box tabindex=0 role=group aria-label="{title}"><table>{"".join(parts)}</table></div>'
        box = box if table.rows else "<p class=dim>No rows."
        rest = _more(table.rows, self._rows, "row") + _more(table.head, self._columns, "column")
        return f"<div><h2>{title}</h2>{box}{rest}</div>"

    def _drawing(self) -> Iterator[str]:
        last: dict[str, tuple[int, int]] = {}
        named = False
        for number, each in enumerate(self._shown):
            x, y = _COLUMN * number + 15, _TOP + _LANE * self._lanes.index(each.lane) + _LANE // 2
            start, offset = last.get(each.lane, (x - 18, each.offset))
            last[each.lane] = x, each.offset
            yield f'<path class={"l" if each.offset <= offset + 1 else "g"} d="M{start + 9} {y}H{x - 9}"/>'
            title, use = "", f'<use href="#{each.kind}" x={x - 9} y={y - 9} width=18 height=18 />'
            if each.marks or self._hints:
                says = (f"{number + 1}: {each.lane}@{each.offset} {each.kind}", *each.marks[:_MARKS], each.text[:200])
                title = f"<title>{self._text('; '.join(says))}</title>"
            if each.marks:
                yield f'<a id=g{number} href="#m{number}">{title}<path class=d d="M{x} {_TOP - 6}V{y - 12}"/>{use}'
                yield f'<circle class=r cx={x} cy={y} r=12 /><path class=w d="M{x} {y - 10}l-5-9h10z"/></a>'
            else:
                yield f"<g>{title}{use}</g>"
            if each.marks and not named:
                named, width = True, _LETTER * min(len(each.marks[0]), _CALLOUT)
                anchor = "end" if width < x and x + width > _COLUMN * len(self._shown) else "start"
                yield f"<text class=w x={x} y=32 text-anchor={anchor}>{self._text(each.marks[0], _CALLOUT)}</text>"
            if (number + 1) % 10 == 0:
                yield f"<text class=a x={x} y=11>{number + 1}</text>"

    def _list(self) -> Iterator[str]:
        for number, each in enumerate(self._shown):
            lane, text = self._text(each.lane, self._content), self._text(each.text, self._content)
            yield f"<tr id=m{number} class=m>" if each.marks else "<tr>"
            yield f"<td class=n>{number + 1}<td>{lane}<td class=n>{each.offset}<td>{each.kind}"
            yield f"<td class=n>{each.commit_ts or ''}<td class=t>{text}"
            yield from (f"<br><b class=bad>▲ {self._text(mark)}</b>" for mark in each.marks[:_MARKS])


def _more(things: Sequence[object], shown: int, thing: str) -> str:
    return f"<p class=dim>{counted(len(things) - shown, f'more {thing}')} not shown.</p>" if len(things) > shown else ""
