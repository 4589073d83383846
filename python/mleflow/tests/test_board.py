from __future__ import annotations

from pathlib import Path

import pytest

import mleflow
from mleflow import _frames


@pytest.fixture(scope="module")
def two(folder: Path) -> mleflow.Leaderboard:
    """A leaderboard of two agents with different time limits."""
    return mleflow.apply("classes.hcl").board()


def test_classes(two: mleflow.Leaderboard) -> None:
    rows = two.frame("records")
    assert [(r["class_letter"], r["place"], r["agent"]) for r in rows] == [("A", 1, "baseline"), ("B", 1, "dummy")]
    assert "time 10m" in rows[0]["class"] and "time 1h" in rows[1]["class"]
    assert {(r["class_letter"], r["agent"], r["class"]) for r in two.figures("records")} == {
        (r["class_letter"], r["agent"], r["class"]) for r in rows
    }
    assert "A 1" in two.text and "Class B: " in two.text


def test_drawn_classes(two: mleflow.Leaderboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLEFLOW_BINARY", "/nonexistent")
    html = two._repr_html_()
    assert ">A 1<" in html and ">B 1<" in html and "Class B: isolation" in html


def test_one_class(demo: mleflow.Run) -> None:
    (row, *_) = demo.leaderboard("records")
    assert row["class_letter"] is None and row["class"].startswith("isolation none (untrusted), ")


@pytest.mark.skipif(not _frames.installed("pandas"), reason="pandas is not installed")
def test_without_place() -> None:
    """An agent without a place has none, and comes last in any order."""
    overall = {"name": "all", "percentages": None}
    agents = [{"name": name, "class": "c", "place": place, "overall": overall} for name, place in (("a", 1), ("b", 0))]
    board = mleflow.Leaderboard("step.aggregate.b", "", {"agents": agents})
    assert [r["place"] for r in board.frame("records")] == [1, None]
    assert list(board.frame("pandas").sort_values("place").agent) == ["a", "b"]


def test_warnings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the program says of agents in a terminal is said here, too."""
    monkeypatch.setenv("MLEFLOW_AUTO_RUNTIME", "process")
    text = Path("classes.hcl").read_text().replace('"mleflow", "agent", "dummy"', '"sh", "-c", "echo boom >&2; exit 3"')
    Path("crash.hcl").write_text(text.replace('"process"', '"auto"'))
    with pytest.warns(mleflow.RunWarning) as caught:
        mleflow.apply("crash.hcl")
    said = [str(w.message) for w in caught]
    assert any("NOT ISOLATED" in s for s in said), said
    assert any(s.startswith("1 attempt ended without a score: agent failed: exit status 3") for s in said), said
