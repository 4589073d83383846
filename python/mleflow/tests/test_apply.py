from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

import mleflow
from mleflow._progress import Progress


def test_events(demo: mleflow.Run) -> None:
    events: list[mleflow.Event] = []
    run = mleflow.apply("demo.hcl", {"seeds": 1, "runtime": "process"}, events.append)
    assert events[0]["type"] == "run_started" and events[-1]["type"] == "run_finished"
    assert events[0]["run"] == run.id != demo.id
    finished = [e for e in events if e["type"] == "step_finished"]
    assert len(finished) == events[0]["steps"] and {e["status"] for e in finished} == {"cached"}


def test_failed_step() -> None:
    with pytest.raises(mleflow.Error) as caught:
        mleflow.apply("lite.hcl", {"set": "leaf-classification"}, args=["--offline"])
    err = caught.value
    assert err.exit_status == 1 and err.run is not None
    assert mleflow.Run(err.run).state == "failed" or mleflow.Run(err.run).record()["finish"]["failed"]
    assert any("step.download.raw" in d.summary and d.detail for d in err.diagnostics)


def test_exception_interrupts() -> None:
    os.environ.setdefault("OPENAI_API_KEY", "a-key-for-tests")
    seen: list[str] = []

    def stop(event: mleflow.Event) -> None:
        if event["type"] == "run_started":
            seen.append(event["run"])
        if event["type"] == "step_phase" and event["phase"] == "running":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mleflow.apply("asking.hcl", {"mode": "sleep", "base_url": "http://127.0.0.1:9/v1"}, stop)
    run = mleflow.Run(seen[0])
    assert run.state != "running"
    assert {s["status"] for s in run.record()["steps"]} <= {"ran", "cached", "cancelled", "skipped"}


def test_undeclared_variable() -> None:
    with pytest.raises(mleflow.Error, match="nosuch") as caught:
        mleflow.apply("demo.hcl", {"nosuch": 1})
    assert caught.value.exit_status == 2


VALUES: list[Any] = [
    None,
    True,
    3,
    0.5,
    "a b",
    '["no list"]',
    '${x} %{y} $${z} \\ "q" \b\f\n\t\x01 é \U0001f600',
    ["a", "${b}"],
    {"k k": "%{x}"},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_variables_arrive(value: Any) -> None:
    run = mleflow.apply("echo.hcl", {"value": value})
    (output,) = run.record()["outputs"]
    assert json.loads(output["value"]) == {"value": value}


def test_bad_variables() -> None:
    with pytest.raises(ValueError, match="a=b"):
        mleflow.apply("echo.hcl", {"a=b": 1})
    with pytest.raises(TypeError):
        mleflow.apply("echo.hcl", {"value": object()})
    with pytest.raises(ValueError):
        mleflow.apply("echo.hcl", {"value": float("nan")})


def test_list_variable() -> None:
    run = mleflow.rehearse("lite.hcl", {"set": "leaf-classification", "against": ["dummy"], "runtime": "process"})
    assert run["attempts"] >= 1


def test_progress() -> None:
    out = io.StringIO()
    progress = Progress(out)
    progress.event({"type": "run_started", "steps": 2})
    progress.event({"type": "step_started", "address": "step.a.\x1b[2J"})
    assert progress.line() == "mleflow 0/2 steps, 1 running: step.a.\x1b[2J"
    progress.event({"type": "step_finished", "address": "step.a.\x1b[2J", "status": "failed"})
    progress.close()
    assert out.getvalue().endswith("mleflow 1/2 steps, 1 failed\n")
    assert "\x1b" not in out.getvalue()


def test_progress_never_stops_a_run() -> None:
    ascii = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    progress = Progress(ascii)
    progress.note("step.a.é")
    progress.event({"type": "run_started", "steps": 1})
    ascii.close()
    progress.close()


def test_silent_without_terminal(capfd: pytest.CaptureFixture[str], demo: mleflow.Run) -> None:
    mleflow.apply("demo.hcl", {"seeds": 1, "runtime": "process"})
    assert capfd.readouterr() == ("", "")
    mleflow.apply("demo.hcl", {"seeds": 1, "runtime": "process"}, progress=True)
    assert "mleflow 15/15 steps" in capfd.readouterr().err


def test_rehearse() -> None:
    report = mleflow.rehearse("lite.hcl", {"set": "leaf-classification", "runtime": "process"})
    assert report["ready"] == report["attempts"] == 1
    assert report["rows"][0]["competition"] == "leaf-classification"
    assert report["real"]["download_bytes"] > 0
    assert mleflow.Run(report["run"]).leaderboard("records")[0]["agent"] == "dummy"
    with pytest.raises(mleflow.Error) as caught:
        mleflow.rehearse("invalid.hcl")
    assert caught.value.exit_status == 2 and caught.value.diagnostics[0].position is not None


def test_rehearsal_that_is_not_ready() -> None:
    report = mleflow.rehearse("failing.hcl")
    assert (report["ready"], report["attempts"]) == (0, 1)
    (attempt,) = mleflow.Run(report["run"]).attempts()
    assert attempt.outcome == "missing" and attempt.get("attempt_outcome") == "no_submission"
    assert attempt.submission() is None and attempt.score is None


@pytest.mark.parametrize("verb", [mleflow.apply, mleflow.rehearse])
def test_unknown_variable(verb: Callable[..., object], folder: Path) -> None:
    """A diagnostic does not point into the file by which variables are passed."""
    with pytest.raises(mleflow.Error, match="seeds") as failure:
        verb("demo.hcl", {"seed": 2})
    assert failure.value.exit_status == 2
    assert failure.value.diagnostics[0].position is None and "variables.hcl" not in str(failure.value)
