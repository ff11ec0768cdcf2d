"""The HTML page: its size, what hostile texts become, which messages it shows, and that it asks for nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from ticdc_emit.observe.page import FAILED, KINDS, MOST_BYTES, PASSED, Page, PageMessage, PageTable, nearest

_EVIL = "\"'><script src=//evil></script><img src=x onerror=alert(1)>&\x00\x1b[2J\u202e\ud800😀"
_MESSAGES = [
    PageMessage(f"t/{number % 3}", number // 3, KINDS[number % 7], f"id={number}", 1000 + number)
    for number in range(3000)
]


class _Elements(HTMLParser):
    """``found``: names of elements with their attributes; ``text``: what a reader sees of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _evil(times: int) -> Page:
    text = _EVIL * times
    messages = [PageMessage(f"{text}/{n % 300}", n, KINDS[n % 7], text, n, [text] * (n % 7)) for n in range(1000)]
    tables = [PageTable(text, [text] * 90, [[text] * 90] * 300, {(299, 0)}) for _ in range(30)]
    return Page(title=text, summary=text, problems=[text] * 500, tables=tables, messages=messages, note=text)


@pytest.mark.parametrize(
    "page",
    [
        Page(title="nothing"),
        Page(title="small", messages=_MESSAGES[:20]),
        Page(title="large", messages=_MESSAGES, total=10**9),
        _evil(1),
        _evil(500),
    ],
    ids=["nothing", "small", "large", "hostile", "hostile and long"],
)
def test_a_page_is_small_and_asks_for_nothing(page: Page) -> None:
    html = page.html()
    assert len(html.encode()) < MOST_BYTES
    elements = _Elements(html)
    assert not {"script", "img", "iframe", "object", "embed"} & {name for name, _ in elements.found}
    for _, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "xlink:href")]
    assert not [part for part in ("url(", "@import", "\x00", "\x1b", "\u202e") if part in html]
    names = [f"#{each['id']}" for _, each in elements.found if "id" in each]
    assert len(names) == len(set(names))
    assert {each["href"] for _, each in elements.found if "href" in each} <= {"data:,", *names}


def test_hostile_texts_are_shown_as_they_are() -> None:
    shown = _Elements(_evil(1).html()).text
    assert "\"'><script src=//evil>" in shown
    assert r"\u0000\u001b[2J\u202e" in shown


def test_a_sample_is_called_one_and_is_around_the_marked_message() -> None:
    marked = PageMessage("t/1", 700, "update", "id=7", 3101, ["came after a newer one"])
    messages = [*_MESSAGES[:2100], marked, *_MESSAGES[2103:]]
    elements = _Elements(Page(title="t", messages=messages, total=1_234_567).html())
    assert "of 1,234,567 messages around the marked ones" in elements.text
    assert elements.text.count("came after a newer one") >= 3  # found, in the drawing, in the list
    (link,) = [each for name, each in elements.found if name == "a" and "id" in each]
    assert f"#{link['id']}" in [each.get("href") for _, each in elements.found]
    assert "id=2099" in elements.text
    assert "id=0 " not in elements.text
    assert "All messages" in Page(title="t", messages=messages[:9]).html()


def test_cells_that_differ_and_states_have_a_sign_beside_their_colour() -> None:
    behaviours = PageTable("Behaviours", ("", "", ""), [("types",), ("decimals", PASSED, ""), ("time", FAILED, "a")])
    tables = [behaviours, PageTable("found", ("id", "v"), [(1, "a"), (2, "b")], {(1, 1)})]
    html = Page(title="check", tables=tables).html()
    for part in ("rowgroup>types", "<td class=ok>✓ passed", "<td class=bad>✗ failed", "<td class=x>≠ b"):
        assert part in html
    long = Page(title="t", tables=[PageTable("t", ["c"] * 25, [["v"] * 25] * 201, {(200, 0)})]).html()
    for part in ("≠ v", "1 more row not shown", "5 more columns not shown"):
        assert part in long


def test_the_nearest_places() -> None:
    assert nearest([], 3, 9) == [0, 1, 2]
    assert nearest([], 100, 4) == [0, 1, 98, 99]
    assert nearest([50, 51], 100, 4) == [49, 50, 51, 52]
