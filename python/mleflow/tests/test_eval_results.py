"""Evaluation results of the Hub, read back by its own client and held against its documented form."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List

import pytest

import mleflow
from mleflow.__main__ import main

DATASET = "lab/my-benchmark"
REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def ranked(folder: Path) -> mleflow.Run:
    return mleflow.apply("benchmark.hcl")


def read(path: str) -> List[Dict[str, Any]]:
    """The entries of a file, which the client parses, each of the documented form."""
    hub, yaml = pytest.importorskip("huggingface_hub"), pytest.importorskip("yaml")
    entries = yaml.safe_load(Path(path).read_text("utf-8"))
    assert isinstance(entries, list) and entries
    assert hub.eval_result_entries_to_yaml(hub.parse_eval_result_entries(entries)) == entries
    for entry in entries:
        # https://github.com/huggingface/hub-docs: docs/hub/eval-results.md, eval_results.yaml
        assert set(entry) <= {"dataset", "value", "verifyToken", "date", "source", "notes"}
        assert set(entry["dataset"]) <= {"id", "task_id", "revision"} and entry["dataset"]["task_id"]
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry["dataset"]["id"]) and isinstance(entry["value"], float)
        datetime.fromisoformat(entry["date"].replace("Z", "+00:00"))
        assert "\n" not in entry["notes"]
        if "source" in entry:
            assert entry["source"]["url"].startswith("https://") and set(entry["source"]) <= {"url", "name", "user"}
    return list(entries)


def test_benchmark(ranked: mleflow.Run, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    (path,) = mleflow.export_eval_results(
        ranked, DATASET, tmp_path, agent="baseline", board="board", revision=REVISION,
        source="https://example.org/run", source_name="Evidence", source_user="lab",
    )  # fmt: skip
    assert Path(path) == tmp_path / ".eval_results" / "my-benchmark-demos.yaml"
    (entry,) = read(path)
    # Of two competitions both are won: 2.5 wins to 0.5, with the draw that each pair has more.
    assert entry["value"] == pytest.approx(1500 + 200 * 0.6989700043360189)
    assert entry["dataset"] == {"id": DATASET, "task_id": "demos", "revision": REVISION}
    assert entry["source"] == {"url": "https://example.org/run", "name": "Evidence", "user": "lab"}
    assert entry["notes"].startswith("baseline: elo over 2 competitions, 1 seeds; untrusted: not isolated; isolation none")
    assert sorted(p.name for p in tmp_path.rglob("*")) == [".eval_results", "my-benchmark-demos.yaml"]


def test_medals(ranked: mleflow.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("huggingface_hub")
    arguments = ["export", "eval-results", ranked.id, f"--dir={tmp_path}", f"--dataset={DATASET}"]
    assert main([*arguments, "--agent=dummy", "--board=medals"]) == 0
    entries = read(capsys.readouterr().out.strip())
    assert [(e["dataset"]["task_id"], e["value"]) for e in entries] == [("all", 0.0), ("demo", 0.0)]
    for more, said in (
        (["--board=medals"], "several agents, name one: baseline, dummy"),
        (["--board=medals", "--agent=nobody"], "no agent 'nobody'"),
        (["--agent=dummy"], "several leaderboards"),
        (["--agent=dummy", "--board=medals", "--task=one"], "cannot all be one task"),
        (["--agent=dummy", "--board=board", "--task=../x"], "other characters"),
        (["--agent=dummy", "--board=board", "--revision=main"], "not a commit"),
        (["--agent=dummy", "--board=board", "--source=ftp://x"], "not an address"),
    ):
        assert main([*arguments, *more]) == 2
        assert said in capsys.readouterr().err
    assert len(list((tmp_path / ".eval_results").iterdir())) == 1


@pytest.mark.parametrize("dataset", ["benchmark", "../..", "a/../b", "lab/x y", "https://hf.co/lab/x", "lab/x\n"])
def test_hostile_dataset(dataset: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not the id of a dataset"):
        mleflow.export_eval_results("latest", dataset, tmp_path)
    assert not list(tmp_path.iterdir())


def test_hostile_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What agents and authors write stays a value, and figures that are none are refused."""
    pytest.importorskip("huggingface_hub")
    name = "- evil: [\n  !!python/object/apply:os.system ['false']\n\x00"
    overall = {"name": "all", "competitions": ["a"], "seeds": 1, "percentages": {}}
    agent: Dict[str, Any] = {"name": name, "class": "c\nd: e", "overall": overall, "benchmark_figure": {"value": 1.5}}
    record: Dict[str, Any] = {"agents": [agent], "benchmark": {"name": "../../x", "aggregate": "elo"}}
    monkeypatch.setattr(mleflow.Run, "board", lambda *_: mleflow.Leaderboard("", "", record))
    monkeypatch.setattr(mleflow.Run, "started", datetime.fromisoformat("2026-01-02T03:04:05+00:00"))
    monkeypatch.setattr(mleflow.Run, "__init__", lambda *_: None)
    (path,) = mleflow.export_eval_results("x", DATASET, tmp_path)
    assert Path(path).parent == tmp_path / ".eval_results"
    (entry,) = read(path)
    assert entry["dataset"]["task_id"] == "../../x" and "evil: [" in entry["notes"]
    for figure in (None, {"value": "nan"}, {"value": "inf"}):
        agent["benchmark_figure"] = figure
        with pytest.raises(ValueError):
            mleflow.export_eval_results("x", DATASET, tmp_path)
    record["rehearsal"] = True
    with pytest.raises(ValueError, match="rehearsal"):
        mleflow.export_eval_results("x", DATASET, tmp_path)


def test_board(ranked: mleflow.Run) -> None:
    """The rule of a benchmark is on the board as a table, and in a notebook."""
    board = ranked.board("board")
    best, other = board.frame("records")
    assert (best["agent"], best["place"], best["tie_group"], best["benchmark_lower"]) == ("baseline", 1, 1, None)
    assert best["benchmark_figure"] + other["benchmark_figure"] == pytest.approx(3000)
    html = board._table()
    assert ">elo<" in html and ">1639.79<" in html and "any medal" in html
    assert ">elo<" not in ranked.board("medals")._table()
