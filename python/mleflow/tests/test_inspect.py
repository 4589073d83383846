"""Logs of `mleflow export inspect`, read by Inspect AI itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import mleflow

log = pytest.importorskip("inspect_ai.log")


def export(run: mleflow.Run, folder: Path) -> list[Any]:
    """Exports a run and reads its logs."""
    command = [os.environ["MLEFLOW_BINARY"], "export", "inspect", run.id, "-o", str(folder), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    paths = [entry["path"] for entry in json.loads(done.stdout)["logs"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listed = [info.name.removeprefix("file://") for info in log.list_eval_logs(str(folder))]
        logs = [log.read_eval_log(path) for path in paths]
    assert sorted(map(os.path.realpath, listed)) == sorted(map(os.path.realpath, paths))
    return logs


def test_scores(demo: mleflow.Run, tmp_path: Path) -> None:
    from inspect_ai.scorer import Score, SampleScore, mean, stderr

    rows = {(r["agent"], r["competition"]): r for r in demo.scores("records")}
    logs = export(demo, tmp_path / "logs")
    seen = set()
    for one in logs:
        assert one.status == "success" and one.version == 2
        agent = one.eval.task.removeprefix("demo/")
        for sample in one.samples:
            row = rows[agent, sample.id]
            seen.add((agent, sample.id))
            assert sample.scores["any_medal"].value == int(row["any_medal"])
            assert sample.scores["medal"].value == (row["medal"] or "none")
            if row["score"] is None:
                assert "score" not in sample.scores
            else:
                assert sample.scores["score"].value == row["score"]
                assert sample.scores["score"].metadata["isolation"] == row["isolation"]
            assert sample.metadata["seed"] == str(row["seed"]) and sample.metadata["conditions"] == row["conditions"]
            assert sample.started_at < sample.completed_at
        values = {s.id: s.scores["valid_submission"].value for s in one.samples}
        scores = [SampleScore(score=Score(value=v), sample_id=k) for k, v in values.items()]
        (made,) = [s for s in one.results.scores if s.name == "valid_submission"]
        assert made.metrics["mean"].value == pytest.approx(mean()(scores))
        assert made.metrics["stderr"].value == pytest.approx(stderr()(scores))
        assert one.results.total_samples == len(one.samples) == made.scored_samples
    assert seen == set(rows)


def test_messages_and_usage(asked: mleflow.Run, tmp_path: Path) -> None:
    (one,) = export(asked, tmp_path / "logs")
    (sample,) = one.samples
    (row,) = asked.scores("records")
    assert [(m.role, m.text) for m in sample.messages] == [("user", "Which digit?"), ("assistant", "<b>seven</b>")]
    assert sample.scores is None and sample.error is None  # nothing graded it
    (usage,) = sample.model_usage.values()
    assert list(sample.model_usage) == [one.eval.model] == ["openai/gpt-4o-2024-08-06"]
    assert usage.input_tokens + usage.input_tokens_cache_read == row["input_tokens"] == 11
    assert usage.output_tokens == row["output_tokens"] == 3 and usage.total_tokens == 14
    assert usage.total_cost == pytest.approx(row["cost_usd"])
    (event,) = [e for e in sample.events if e.event == "model"]
    assert [m.text for m in event.input] == ["Which digit?"] and event.output.completion == "<b>seven</b>"


def test_error(folder: Path, tmp_path: Path) -> None:
    (folder / "exits.hcl").write_text(
        (folder / "asking.hcl").read_text().split('step "download"')[0].split('model "main"')[0]
        + 'agent "quits" { command = ["sh", "-c", "exit 7"] }\n'
        + 'step "download" "raw" { competition = "demo-digits" }\n'
        + 'step "prepare" "data" {\n  competition = "demo-digits"\n  raw = step.download.raw.tree\n}\n'
        + 'step "agent-run" "solve" {\n  agent = agent.quits\n  competition = "demo-digits"\n'
        + '  data = step.prepare.data.public\n  runtime = "process"\n}\n'
    )
    (one,) = export(mleflow.apply("exits.hcl"), tmp_path / "logs")
    (sample,) = one.samples
    assert sample.error.message == "agent_failed: exit status 7" and sample.messages == []
    assert one.results.completed_samples == 0


def test_viewer(asked: mleflow.Run, tmp_path: Path) -> None:
    export(asked, tmp_path / "logs")
    inspect = [sys.executable, "-m", "inspect_ai"]
    done = subprocess.run([*inspect, "log", "list", "--json", "--log-dir", str(tmp_path / "logs")], capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)[0]["task"].endswith("mine"), done.stderr
    command = [*inspect, "view", "bundle", "--log-dir", str(tmp_path / "logs"), "--output-dir", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and list((tmp_path / "site" / "logs").glob("*.eval")), done.stderr
