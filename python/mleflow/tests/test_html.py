from __future__ import annotations

from html.parser import HTMLParser

import pytest

import mleflow
from mleflow import _html

EVIL = '<img src=x onerror="alert(1)">'


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "br":
            self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


ALLOWED = {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
DRAWN = ALLOWED | set("style section header article h1 h2 h3 ul li span strong code br svg path text circle rect bdi pre details summary".split())


def test_demo(demo: mleflow.Run) -> None:
    for thing in (demo, demo.board(), demo.attempts()[0], mleflow.compare(demo, demo)):
        tags = Tags(thing._repr_html_())
        assert tags.seen <= DRAWN
        # Nothing that runs, loads, or is named twice in a notebook.
        assert not {a for a in tags.attributes if a.startswith("on") or a in ("href", "src", "id")}
    assert "Untrusted" in demo._repr_html_() and demo.id in demo._repr_html_()
    assert "Above median" in demo.board()._repr_html_()
    assert 'class="plot"' in demo.attempts()[0]._repr_html_()


def test_style_is_confined(demo: mleflow.Run) -> None:
    html = demo._repr_html_()
    sheet = html.partition("<style>")[2].partition("</style>")[0]
    depth, outside = 0, ""
    for char in sheet:
        depth -= char == "}"
        outside += char if depth == 0 else ""
        depth += char == "{"
    assert depth == 0 and ":root" not in sheet
    assert {rule.strip().rpartition(" ")[2] for rule in outside.replace("{", "}").split("}") if rule.strip()} == {
        ".mleflow.mleflow.mleflow"
    }
    assert sheet.count("--card:") >= 4


def test_without_page(demo: mleflow.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program draws no page, small tables have the same facts."""
    things = demo, demo.board(), demo.attempts()[0]
    assert demo.name
    monkeypatch.setenv("MLEFLOW_BINARY", "/nonexistent")
    for thing in things:
        assert Tags(thing._repr_html_()).seen <= ALLOWED


def test_strings_are_escaped() -> None:
    rows = [{"agent": EVIL, "competition": EVIL, "reason": EVIL, "graded": True}]
    attempt = mleflow.Attempt(EVIL, EVIL, {"status": EVIL}, rows)
    overall = {"name": "all", "isolation": EVIL, "percentages": None}
    board = mleflow.Leaderboard(EVIL, EVIL, {"agents": [{"name": EVIL, "place": EVIL, "overall": overall}]})
    none: dict[str, object] = dict.fromkeys(("outcomes", "scores"))
    change = {"name": EVIL, "was": EVIL, "is": EVIL}
    comparison = mleflow.Comparison({"from": EVIL, "to": EVIL, "variables": [change], **none})
    for thing in (attempt, board, comparison):
        assert Tags(thing._repr_html_()).seen <= ALLOWED


def test_cells() -> None:
    assert [_html.cell(v) for v in (None, float("nan"), True, 0, 0.123456789, float("inf"), "a&b")] == [
        "", "", "yes", "0", "0.12346", "inf", "a&amp;b"
    ]
