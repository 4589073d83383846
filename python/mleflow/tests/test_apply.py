from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

import mleflow
from mleflow._progress import Progress
from mleflow._vars import encode


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
    with pytest.raises(TypeError, match="variable value: .* type object"):
        mleflow.apply("echo.hcl", {"value": object()})
    with pytest.raises(ValueError, match="variable value"):
        mleflow.apply("echo.hcl", {"value": float("nan")})


def test_encode() -> None:
    assert encode({"a": Path("x", "y"), "b": [None, Path("z")]}) == 'a = "x/y"\nb = [null, "z"]\n'
    assert encode({"re\u0301sume\u0301-1": 1}) == "re\u0301sume\u0301-1 = 1\n"
    for name in ("", "-a", "1a", "a b", "a\n", "a.b"):
        with pytest.raises(ValueError, match="not the name"):
            encode({name: 1})


def test_encode_numpy() -> None:
    np = pytest.importorskip("numpy")
    for value, want in [
        (np.int8(-1), "-1"),
        (np.int64(3), "3"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.float16(0.5), "0.5"),
        (np.float32(0.1), "0.10000000149011612"),
        (np.float64(0.1), "0.1"),
        (np.bool_(True), "true"),
        (np.str_("a"), '"a"'),
        (np.array(2), "2"),
        (np.array([[1, 2], [3, 4]], dtype=np.int32), "[[1, 2], [3, 4]]"),
        (np.array([True, False]), "[true, false]"),
        (np.array(["a", "${b}"]), '["a", "$${b}"]'),
        (np.array([1, "a", None], dtype=object), '[1, "a", null]'),
        ({"a": [np.int64(1), np.float32(2)]}, '{"a": [1, 2.0]}'),
    ]:
        assert encode({"v": value}) == f"v = {want}\n"
    for bad in (np.datetime64("2020-01-01"), np.complex128(1j), np.longdouble(1), np.array([1j]), {np.int64(1): 2}):
        with pytest.raises(TypeError, match="variable v: "):
            encode({"v": bad})
    for bad in (np.float32("nan"), np.float64("inf"), np.array([np.nan])):
        with pytest.raises(ValueError, match="variable v: "):
            encode({"v": bad})


def test_encode_pandas() -> None:
    pd = pytest.importorskip("pandas")
    for value, want in [
        (pd.NA, "null"),
        (pd.Series([1, None], dtype="Int64"), "[1, null]"),
        (pd.Series(["a", pd.NA], dtype="string"), '["a", null]'),
        (pd.Series([0.5, 1.5]), "[0.5, 1.5]"),
        (pd.Index([1, 2]), "[1, 2]"),
        (pd.Series(["a", "b"], dtype="category"), '["a", "b"]'),
    ]:
        assert encode({"v": value}) == f"v = {want}\n"
    for bad in (pd.Timestamp("2020-01-01"), pd.NaT, pd.Timedelta(1), pd.DataFrame(), pd.Series(pd.to_datetime(["2020-01-01"]))):
        with pytest.raises(TypeError, match="variable v: HCL has no value of type"):
            encode({"v": bad})



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
