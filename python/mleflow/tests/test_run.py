from __future__ import annotations

import sys
from datetime import timezone
from pathlib import Path

import pytest

import mleflow
from mleflow import _frames

PACKAGES = all(_frames.installed(m) for m in ("pandas", "polars", "pyarrow"))
needs_packages = pytest.mark.skipif(not PACKAGES, reason="pandas, polars or pyarrow is not installed")

ROWS = [
    ("baseline", "demo-cancer", "0"),
    ("baseline", "demo-digits", "0"),
    ("dummy", "demo-cancer", "0"),
    ("dummy", "demo-digits", "0"),
]


def test_runs(demo: mleflow.Run) -> None:
    found = {run.id: run for run in mleflow.runs()}
    run = found[demo.id]
    assert run.state == "finished" and run.untrusted
    assert run.name == demo.name != ""
    assert run.pipeline.endswith("demo.hcl")
    assert run.started == demo.started and run.started.tzinfo == timezone.utc
    assert run.record()["steps"] == demo.record()["steps"]
    assert len(mleflow.runs(limit=1)) == 1
    assert mleflow.runs(name="no such name") == mleflow.runs(tags={"a": "b"}) == []


def test_run_by_beginning_and_name(demo: mleflow.Run) -> None:
    assert mleflow.Run(demo.id[:-1]).id == mleflow.Run(demo.name).id == demo.id


def test_attempts(demo: mleflow.Run) -> None:
    attempts = demo.attempts()
    assert [(a.agent, a.competition, a.seed) for a in attempts] == ROWS
    first = attempts[0]
    assert first.address == 'step.agent-run.solve["baseline/demo-cancer/0"]'
    assert first.status in ("ran", "cached") and first.outcome == "scored"
    assert first.score is not None and 0.9 < first.score < 1
    assert "baseline" in first.logs()
    assert first.transcript() == []


@needs_packages
def test_scores_agree(demo: mleflow.Run) -> None:
    records = demo.scores("records")
    assert [(r["agent"], r["competition"], r["seed"]) for r in records] == ROWS
    pandas, polars = demo.scores("pandas"), demo.scores("polars")
    assert list(pandas.columns) == polars.columns == list(records[0])
    assert list(pandas.exact_score) == polars["exact_score"].to_list() == [r["exact_score"] for r in records]
    assert demo.scores("records", table="snapshots") == []
    assert list(demo.leaderboard("pandas").agent) == demo.leaderboard("polars")["agent"].to_list()
    attempt = demo.attempts()[1]
    assert len(attempt.submission("pandas")) == len(attempt.submission("polars")) > 0


@needs_packages
def test_without_libraries(demo: mleflow.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with_arrow = demo.scores()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with_json = demo.scores()
    assert list(with_json.columns) == list(with_arrow.columns)
    assert list(with_json.exact_score) == list(with_arrow.exact_score)
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    assert demo.scores() == demo.scores("records")
    assert isinstance(demo.leaderboard(), list)
    with pytest.raises(ImportError, match="polars"):
        demo.scores("polars")
    with pytest.raises(ValueError, match="dask"):
        demo.scores("dask")  # type: ignore[call-overload]


def test_leaderboard(demo: mleflow.Run) -> None:
    rows = demo.leaderboard("records")
    assert [(r["place"], r["agent"]) for r in rows] == [(1, "baseline"), (2, "dummy")]
    assert rows[1]["valid_submissions_percentage"] == 100 and rows[1]["any_medal_percentage"] == 0
    board = demo.board("board")
    assert board.address == "step.aggregate.board" and board.text.startswith("Leaderboard")
    figures = board.figures("records")
    assert {f["group"] for f in figures} == {"all", "demo"}
    with pytest.raises(LookupError, match="other"):
        demo.board("other")


def test_submission(demo: mleflow.Run, tmp_path: Path) -> None:
    attempt = demo.attempts()[1]
    records = attempt.submission("records")
    assert records is not None and set(records[0]) == {"id", "digit"}
    saved = attempt.save(tmp_path)
    assert (saved / "submission.csv").is_file() and saved.parent == tmp_path
    with pytest.raises(mleflow.Error):
        attempt.save(tmp_path)
    with pytest.raises(mleflow.Error):
        attempt.save(tmp_path, "nosuch")


def test_transcript(asked: mleflow.Run) -> None:
    (attempt,) = asked.attempts()
    (exchange,) = attempt.transcript()
    assert "Which digit?" in str(exchange["said"]) and "seven" in str(exchange["reply"])
    assert "asked <script>" in attempt.logs()
    assert attempt.outcome is None and attempt.get("graded") is False
    assert attempt.submission("records")
    with pytest.raises(LookupError, match="no leaderboard"):
        asked.leaderboard()


def test_compare(demo: mleflow.Run) -> None:
    other = mleflow.apply("demo.hcl", {"seeds": 2, "runtime": "process"})
    difference = mleflow.compare(demo, other.id)
    assert {"name": "seeds", "was": "1", "is": "2"} in difference.record["variables"]
    assert difference.scores("records") == []
    assert "seeds" in difference._repr_html_()
    assert [a["agent"] for a in difference.record["agents"]] == ["baseline", "dummy"]
    first = difference.sentences[0]
    assert first.startswith(f"baseline of {demo.id} ") and "2 and 4 attempts" in first and first in difference._repr_html_()
    same = mleflow.compare(demo, demo)
    assert "have the same 2 attempts: nothing differs" in str(same)


def test_compare_of_other_conditions(folder: Path) -> None:
    """Attempts under other limits are not compared."""
    text = Path("classes.hcl").read_text()
    Path("longer.hcl").write_text(text.replace('"10m"', '"20m"'))
    difference = mleflow.compare(mleflow.apply("classes.hcl"), mleflow.apply("longer.hcl"))
    assert "the same conditions" in difference.sentences[0] and "1 attempt" in difference.sentences[1], difference.sentences


def test_infinite_numbers() -> None:
    row = {"score": "inf", "gold_margin": "-inf", "agent": "inf", "exact_score": None, "score_at_1h": "inf"}
    inf = float("inf")
    want = {"score": inf, "gold_margin": -inf, "agent": "inf", "exact_score": None, "score_at_1h": inf}
    assert _frames.numbers(row) == want
