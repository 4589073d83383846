"""Exports to viewers, read back by the viewers' own packages."""

from __future__ import annotations

import importlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List

import pytest

import mleflow
from mleflow.__main__ import main
from mleflow._logged import logged

CONDITIONS = {"isolation=none", "runtime=process", "task=own"}
SCORES = {("dummy", "demo-digits"): 0.075, ("baseline", "demo-digits"): 0.97222}


@pytest.fixture(scope="session")
def early(folder: Path) -> mleflow.Run:
    return mleflow.apply("early.hcl")


def steps_of(run: mleflow.Run) -> List[int]:
    seconds = [row["seconds"] for row in run.scores("records", table="snapshots")]
    assert seconds
    return seconds


def file_store(tmp_path: Path) -> str:
    return (tmp_path / "mlruns").as_uri()


def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/mlflow.db"


@pytest.mark.parametrize("store", [file_store, database])
def test_mlflow(
    store: Callable[[Path], str], demo: mleflow.Run, early: mleflow.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow: Any = pytest.importorskip("mlflow")
    if store is database:
        pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = store(tmp_path)
    first = mleflow.export_mlflow(demo, uri, "ours")
    assert len(first) == len(demo.attempts())
    assert mleflow.export_mlflow(demo.id, uri, "ours") == []
    (ours,) = mleflow.export_mlflow(early, uri, "ours")

    api = mlflow.MlflowClient(tracking_uri=uri)
    where = [api.get_experiment_by_name("ours").experiment_id]
    runs = api.search_runs(where, f"tags.`mleflow.run` = '{demo.id}'")
    assert len(runs) == 1 + len(first)
    (parent,) = [r for r in runs if r.data.tags["mleflow.key"] == demo.id]
    found = {(r.data.params["agent"], r.data.params["competition"]): r for r in runs if r is not parent}
    for key, score in SCORES.items():
        assert found[key].data.metrics["score"] == pytest.approx(score, abs=5e-6)
        assert found[key].data.tags["mlflow.parentRunId"] == parent.info.run_id
    solved = found["baseline", "demo-digits"]
    assert solved.data.metrics["bronze_medal"] == 1 and solved.data.metrics["rank_fraction"] == 16 / 40
    assert CONDITIONS <= set(solved.data.params["conditions"].split())
    assert solved.data.tags["mleflow.rehearsal"] == "false" and solved.data.tags["mleflow.untrusted"] == "true"
    assert sorted(a.path for a in api.list_artifacts(solved.info.run_id)) == ["report.json", "submission.csv"]
    curve = api.get_metric_history(ours, "snapshot_score")
    assert [m.step for m in curve] == steps_of(early) and {m.value for m in curve} == {0.075}

    # An export that was cut off is completed, without a second copy.
    api.update_run(first[0], status="RUNNING")
    (again,) = mleflow.export_mlflow(demo, uri, "ours", artifacts=False)
    assert again != first[0] and len(api.search_runs(where, f"tags.`mleflow.run` = '{demo.id}'")) == len(runs)


def test_wandb(asked: mleflow.Run, early: mleflow.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_API_KEY", "none" * 10)  # no login, no prompt
    (name,) = mleflow.export_wandb(early, tmp_path)
    assert mleflow.export_wandb(early, tmp_path) == []
    (other,) = mleflow.export_wandb(asked, tmp_path, artifacts=False)
    assert len(list((tmp_path / "wandb").glob("offline-run-*"))) == 2
    assert not list((tmp_path / "wandb").glob(".export-*"))
    (folder,) = (tmp_path / "wandb").glob(f"offline-run-*-{name}")
    assert sorted(p.name for p in (folder / "files").iterdir()) == ["report.json", "submission.csv"]

    records = list(read_wandb(folder / f"run-{name}.wandb"))
    (run,) = [r.run for r in records if r.HasField("run")]
    assert (run.run_group, run.display_name, run.run_id) == (early.id, "early demo-digits 7", name)
    assert "untrusted" in run.tags and "rehearsal" not in run.tags
    config = {u.key: json.loads(u.value_json) for u in run.config.update}
    assert config["agent"] == "early" and CONDITIONS <= set(config["conditions"].split())
    history = steps(records)
    assert [h["seconds"] for h in history if "snapshot_score" in h] == steps_of(early)
    assert history[0]["snapshot_score"] == 0.075
    assert [h["score"] for h in history if "score" in h] == [0.075]
    assert [r.exit.exit_code for r in records if r.HasField("exit")] == [0]

    (folder,) = (tmp_path / "wandb").glob(f"offline-run-*-{other}")
    usage = steps(read_wandb(folder / f"run-{other}.wandb"))[-1]
    assert (usage["input_tokens"], usage["output_tokens"]) == (11, 3) and "score" not in usage

    command = [sys.executable, "-m", "wandb", "sync", "--dry-run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and name in done.stdout + done.stderr


def read_wandb(path: Path) -> Iterator[Any]:
    """Records of an offline file: a header of 7 bytes, then LevelDB's log format with wandb's own messages."""
    record = importlib.import_module("wandb.proto.wandb_internal_pb2").Record
    data = path.read_bytes()
    at, body = 7, b""
    while at + 7 <= len(data):
        if 0x8000 - at % 0x8000 < 7:
            at += 0x8000 - at % 0x8000
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        body += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield record.FromString(body)
            body = b""


def steps(records: Iterable[Any]) -> List[Dict[str, Any]]:
    entries = [r.history.item for r in records if r.HasField("history")]
    return [{i.key or i.nested_key[0]: json.loads(i.value_json) for i in items} for items in entries]


def test_trackio(demo: mleflow.Run, early: mleflow.Run, tmp_path: Path) -> None:
    pytest.importorskip("trackio")
    program = """
import json, sys, mleflow, trackio
for run in sys.argv[1:]:
    written = len(mleflow.export_trackio(run, "ours")), len(mleflow.export_trackio(run, "ours"))
storage = trackio.api.SQLiteStorage
runs = {r.name: (r.config, storage.get_logs("ours", r.name, run_id=r.id)) for r in trackio.Api().runs("ours")}
print(json.dumps([written, runs], default=str))
"""
    env = {**os.environ, "TRACKIO_DIR": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", program, demo.id, early.id]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    written, runs = json.loads(done.stdout)
    assert written == [1, 0] and len(runs) == len(demo.attempts()) + 1
    config, logs = runs[f"early demo-digits 7 {early.id}/step.agent-run.solve"]
    assert config["competition"] == "demo-digits" and config["mleflow.run"] == early.id
    assert [log["seconds"] for log in logs if "seconds" in log] == steps_of(early)
    assert logs[0]["snapshot_score"] == 0.075
    assert logs[-1]["score"] == 0.075 and logs[-1]["rank"] == 40


def test_command(demo: mleflow.Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: List[Dict[str, Any]] = []
    monkeypatch.setitem(sys.modules, "trackio", None)
    assert main(["export", "trackio", demo.id]) == 2
    assert "needs the package trackio" in capsys.readouterr().err

    def wandb(*args: Any, **options: Any) -> List[str]:
        seen.append({"args": args, **options})
        return ["x"]

    monkeypatch.setattr("mleflow.__main__.export_wandb", wandb)
    assert main(["export", "wandb", demo.id, "--dir", "d", "--no-artifacts"]) == 0
    assert seen == [{"args": (demo.id, "d", "offline", "mleflow"), "artifacts": False}]
    assert capsys.readouterr().out == "1 attempt written\n"
    with pytest.raises(SystemExit) as stop:
        main(["export", "excel"])
    assert stop.value.code == 2


def test_rehearsal_has_no_medals(folder: Path) -> None:
    report = mleflow.rehearse("lite.hcl", {"set": "leaf-classification"}, progress=False)
    (attempt,) = logged(report["run"])
    assert attempt.tags["rehearsal"] == "true" and attempt.metrics["valid_submission"] == 1
    assert attempt.metrics["score"] > 0 and not {m for m in attempt.metrics if "medal" in m or "median" in m}


@pytest.mark.parametrize("viewer", ["mlflow", "wandb", "trackio"])
def test_command_without_run(viewer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", viewer, "none-such"]) == 2
    assert "none-such" in capsys.readouterr().err
