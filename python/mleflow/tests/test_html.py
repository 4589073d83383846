from __future__ import annotations

from html.parser import HTMLParser

import mleflow
from mleflow import _html

EVIL = '<img src=x onerror="alert(1)">'


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


ALLOWED = {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}


def test_demo(demo: mleflow.Run) -> None:
    for thing in (demo, demo.board(), demo.attempts()[0], mleflow.compare(demo, demo)):
        assert Tags(thing._repr_html_()).seen <= ALLOWED
    assert "baseline" in demo.board()._repr_html_()
    assert "Untrusted" in demo._repr_html_()


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
