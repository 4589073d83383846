"""Trajectories in ATIF: what `mleflow export atif` writes, and what `mleflow import atif` takes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from mleflow import _atif

FOLDER = Path(__file__).parent / "atif"
RUN = {
    "session": "run/step.agent-run.solve",
    "agent": "codex",
    "version": "0.169.0",
    "extra": {"competition": "demo-digits"},
}


def turns() -> List[Dict[str, Any]]:
    return list(_atif.lines(io.BytesIO((FOLDER / "turns.jsonl").read_bytes())))


def test_export() -> None:
    """Three conversations, one in each dialect. Harbor's own models accept the file; see validate.py."""
    made = _atif.trajectory(RUN, turns())
    assert made is not None
    check(made)
    # The fractions and the arguments are spelled as they came.
    kept = json.loads(_atif.text(made), parse_float=_atif.Json)
    want = json.loads((FOLDER / "trajectory.json").read_text(), parse_float=_atif.Json)
    assert json.dumps(kept) == json.dumps(want)


def test_text() -> None:
    spelled = _atif.text({"a": ["é…\u2028\x7f\b\t<&>", _atif.Json('"\\ud800"'), None, 1, True]})
    assert spelled == '{"a":["é…\\u2028\x7f\\b\\t<&>","\\ud800",null,1,true]}'


def test_nothing_to_export() -> None:
    assert _atif.trajectory(RUN, [t for t in turns() if not t["conversation"]]) is None


def check(trajectory: Dict[str, Any]) -> None:
    """What the format demands beyond the names and types of fields."""
    assert trajectory["agent"]["name"] and trajectory["agent"]["version"] and trajectory["steps"]
    for number, step in enumerate(trajectory["steps"], 1):
        assert step["step_id"] == number and step["source"] in ("agent", "user", "system")
        if step["source"] != "agent":
            assert not {"model_name", "reasoning_content", "tool_calls", "metrics"} & set(step)
        ids = [call["tool_call_id"] for call in step.get("tool_calls", [])]
        assert len(ids) == len(set(ids))
        assert all(isinstance(json.loads(call["arguments"]), dict) for call in step.get("tool_calls", []))
        results = step.get("observation", {}).get("results", [])
        assert {r.get("source_call_id", "") for r in results} <= {"", *ids}
    others = trajectory.get("subagent_trajectories", [])
    assert len({o["trajectory_id"] for o in others}) == len(others)
    for other in others:
        check(other)


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ('{"a": 1.0, "b":1e3}', '{"a": 1.0, "b":1e3}'),
        ("", "{}"),
        ("ls", '{"input": "ls"}'),
        ("[1]", '{"input": "[1]"}'),
        ('{"a": NaN}', '{"input": "{\\"a\\": NaN}"}'),
        ('{"a":1' + "0" * 6000 + "}", '{"a":1' + "0" * 6000 + "}"),
    ],
)
def test_arguments(arguments: str, made: str) -> None:
    assert _atif._arguments(arguments) == made


@pytest.mark.parametrize(
    ("nano", "spelled"),
    [(0, "0"), (5, "5e-9"), (150, "1.5e-7"), (20000, "0.00002"), (1250000, "0.00125"), (20 * 10**9, "20")],
)
def test_dollars(nano: int, spelled: str) -> None:
    assert _atif._dollars(nano) == spelled


def claimed(folder: Path, trajectory: str) -> Dict[str, Any]:
    path = folder / "t.json"
    path.write_text(trajectory)
    claim, data = _atif._claim(path)
    assert data == path.read_bytes()  # as it is in the file
    return claim


STEPS = """{"schema_version": "ATIF-v1.6", "agent": {"name": "aide", "version": "1", "model_name": "m"}, "steps": [
    {"step_id": 1, "source": "user", "message": "hi", "timestamp": "2026-01-02T03:04:05Z"},
    {"step_id": 2, "source": "agent", "message": [{"type": "text", "text": "NaN"}],
     "timestamp": "2026-01-02T03:04:15.5+00:00", "metrics": {"prompt_tokens": 10, "completion_tokens": 3, "cost_usd": 0.5, "extra": {"p": NaN}}},
    {"step_id": 3, "source": "agent", "message": "",
     "metrics": {"prompt_tokens": 20, "completion_tokens": 4, "cached_tokens": 7}}]"""


def test_claim(tmp_path: Path) -> None:
    tokens = {"input_tokens": 30, "cached_input_tokens": 7, "output_tokens": 7}
    usage = {"model": "m", "requests": 2, **tokens, "cost_usd": 0.5}
    claim = claimed(tmp_path, STEPS + "}")
    assert claim == {"agent": "aide", "format": "ATIF-v1.6", "wall_seconds": 10.5, "usage": usage}
    totals = ', "final_metrics": {"total_prompt_tokens": 31, "total_cost_usd": 0.75}}'
    assert claimed(tmp_path, STEPS + totals)["usage"] == {**usage, "input_tokens": 31, "cost_usd": 0.75}


@pytest.mark.parametrize(
    "trajectory",
    [
        "",
        "[]",
        "id,digit\n",
        '{"schema_version": "ATIF-v2.0", "agent": {"name": "x"}, "steps": [{}]}',
        '{"schema_version": "ATIF-v1.6", "agent": {"name": "x"}, "steps": []}',
        '{"schema_version": "ATIF-v1.6", "agent": {"name": 1}, "steps": [{}]}',
        '{"schema_version": "ATIF-v1.6", "agent": "x", "steps": [{}]}',
        '{"schema_version": "ATIF-v1.6", "agent": {"name": "x"}, "steps": [1]}',
        '{"schema_version": "ATIF-v1.6", "agent": {"name": "x"}, "steps": {"a": {}}}',
        '{"schema_version": "ATIF-v1.6", "agent": {"name": "x", "model_name": 1}, "steps": [{}]}',
        '{"schema_version": "ATIF-v1.6", "agent": {"name": "x"}, "steps": [{"metrics": {"cost_usd": true}}]}',
        "[" * 100000,
        '{"schema_version": "ATIF-v1.6", "agent": {"name": "x"}, "steps": [{"x": 1' + "0" * 5000 + "}]}",
    ],
)
def test_no_trajectory(tmp_path: Path, trajectory: str) -> None:
    with pytest.raises(_atif.Wrong, match="it is no trajectory in ATIF"):
        claimed(tmp_path, trajectory)


def amounts(step: str, final: str) -> str:
    head = '{"schema_version": "ATIF-v1.6", "agent": {"name": "a"}, "steps": [{"metrics": {'
    return head + step + '}}], "final_metrics": {' + final + "}}"


@pytest.mark.parametrize(
    ("step", "final"),
    [
        ('"prompt_tokens": 10, "cost_usd": 0', ""),
        ('"cost_usd": NaN', '"total_cost_usd": 3.5'),
        ("", '"total_prompt_tokens": 1e12'),
    ],
)
def test_amounts(tmp_path: Path, step: str, final: str) -> None:
    assert claimed(tmp_path, amounts(step, final))["agent"] == "a"


@pytest.mark.parametrize(
    ("step", "final"),
    [
        ('"cost_usd": -1', ""),
        ('"prompt_tokens": -5', '"total_prompt_tokens": 5'),
        ('"completion_tokens": 1e18', ""),
        ('"completion_tokens": 1e999', ""),
        ('"prompt_tokens": 5, "cached_tokens": 6', ""),
        ("", '"total_cost_usd": -0.01'),
        ("", '"total_cost_usd": 1e10'),
        ("", '"total_completion_tokens": -1'),
    ],
)
def test_impossible_amounts(tmp_path: Path, step: str, final: str) -> None:
    """Amounts that no attempt can have used are refused, whether of a step or of all."""
    with pytest.raises(_atif.Wrong, match="claims what cannot be"):
        claimed(tmp_path, amounts(step, final))


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_atif, "_LARGEST", 100)
    with pytest.raises(_atif.Wrong, match="it is larger than"):
        claimed(tmp_path, STEPS + "}")
