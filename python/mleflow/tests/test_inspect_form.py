"""What `mleflow export inspect` sends, as Inspect AI reads it in a log, and what its logs claim.

The facts are those of the writer in Go that this module replaced, with which
every field of these logs was compared.
"""

from __future__ import annotations

import io
import json
import math
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import pytest

log = pytest.importorskip("inspect_ai.log")

from mleflow import _inspect  # noqa: E402
from mleflow._atif import Wrong  # noqa: E402

BEGAN = 1767323040123  # 2026-01-02T03:04:00.123Z
HEAD = {
    "agent": "mine/own agent",
    "run": "20260102T030400Z-abcd",
    "pipeline": "my.hcl",
    "created_ms": BEGAN,
    "status": "error",
    "tags": ["a=b"],
    "metadata": {"run": "x"},
}
EXCHANGE = {
    "sequence": 1,
    "time": "2026-01-02T03:04:01Z",
    "model": "main",
    "provider": "openai",
    "asked": "m",
    "status": 200,
    "reported": True,
    "seconds": 1.5,
    "conversation": 1,
}


def attempt(*, row: Optional[Dict[str, Any]] = None, **more: Any) -> Dict[str, Any]:
    flags = {"any_medal": False, "above_median": False, "valid_submission": False, "graded": True}
    names = {
        "competition": "demo-digits",
        "attempt_outcome": "finished",
        "wall_seconds": 60.5,
        "medal": "",
        "score": None,
    }
    document = {
        "row": [{**names, **flags, **(row or {})}],
        "snapshots": [],
        "epoch": 1,
        "counts": True,
        "failed": False,
        "error": "",
        "started_ms": BEGAN,
        "ended_ms": BEGAN + 61234,
        "recorded": False,
    }
    return {**document, **more}


def lines(*attempts: Dict[str, Any], turns: Sequence[Any] = ()) -> bytes:
    documents: List[Any] = [{**HEAD, "samples": len(attempts)}]
    for one in attempts:
        documents += [one, *turns, None] if one["recorded"] else [one]
    return b"".join(json.dumps(d).encode() + b"\n" for d in documents)


def written(folder: Path, *attempts: Dict[str, Any], turns: Sequence[Any] = ()) -> Any:
    (entry,) = _inspect._export(io.BytesIO(lines(*attempts, turns=turns)), folder, folder, 1)
    assert entry["agent"] == HEAD["agent"] and entry["samples"] == len(attempts)
    return log.read_eval_log(entry["path"])


def test_log(tmp_path: Path) -> None:
    one = written(tmp_path, attempt(), attempt(error="no space left\non device", row={"graded": False}))
    assert Path(one.location or next(tmp_path.iterdir())).name == (
        "2026-01-02T03-04-00+00-00_my-mine-own-agent_a6a6bbdc5e87d790dd4735.eval"
    )
    assert (one.version, one.status) == (2, "error")
    assert one.error.message == "demo-digits #2: no space left\non device"
    spec = one.eval
    assert (spec.task, spec.solver, spec.model, spec.tags) == (
        "my/mine/own agent",
        "mine/own agent",
        "none/none",
        ["a=b"],
    )
    assert (spec.dataset.name, spec.dataset.samples, spec.dataset.sample_ids) == (
        "my.hcl",
        2,
        ["demo-digits", "demo-digits #2"],
    )
    assert (spec.created, spec.metadata, spec.config.epochs) == ("2026-01-02T03:04:00.123000+00:00", {"run": "x"}, 1)
    assert (one.results.total_samples, one.results.completed_samples) == (2, 1)
    assert [s.solver for s in one.plan.steps] == ["mine/own agent"]


def test_places(tmp_path: Path) -> None:
    """Attempts at the same competition, with the same seed, are told apart."""

    def at(epoch: int, address: str, version: str = "v1") -> Dict[str, Any]:
        return attempt(epoch=epoch, row={"address": address, "competition_version": version})

    one = written(tmp_path, at(1, "p/1"), at(3, "q"), at(2, "r"), at(2, "s/t"), at(2, "s/t"), at(1, "t", "v2"))
    assert [(s.id, s.epoch) for s in one.samples] == [
        ("demo-digits", 1),
        ("demo-digits@v2", 1),
        ("demo-digits", 2),
        ("demo-digits s-t", 2),
        ("demo-digits s-t #2", 2),
        ("demo-digits", 3),
    ]


@pytest.mark.parametrize(
    ("row", "failed", "limit", "error"),
    [
        ({"attempt_outcome": "timed_out", "time_limit_seconds": 60.9}, False, ("time", 60.9), None),
        ({"attempt_outcome": "out_of_budget", "cost_usd": 1.25}, True, ("cost", 1.25), None),
        ({"attempt_outcome": "out_of_memory", "memory_limit_bytes": 1 << 30}, True, ("custom", 1 << 30), None),
        ({"attempt_outcome": "out_of_disk"}, True, ("custom", 0), None),
        ({"attempt_outcome": "agent_failed", "reason": "exit status 7"}, True, None, "agent_failed: exit status 7"),
        ({"attempt_outcome": "data_changed"}, True, None, "data_changed"),
        ({"attempt_outcome": "no_submission"}, False, None, None),
    ],
)
def test_ends(
    tmp_path: Path, row: Dict[str, Any], failed: bool, limit: Optional[Tuple[str, float]], error: Optional[str]
) -> None:
    (sample,) = written(tmp_path, attempt(row=row, failed=failed)).samples
    found = sample.limit and (sample.limit.type, sample.limit.limit)
    assert (found, sample.error and sample.error.message) == (limit, error)
    if limit:
        assert sample.limit.reason == row["attempt_outcome"]


def test_scores(tmp_path: Path) -> None:
    """A score is explained by the attempt's end; one that does not count, or is no number, is left out."""
    won = {"any_medal": True, "above_median": True, "valid_submission": True, "medal": "gold", "percentile": 99.5}
    one = written(
        tmp_path,
        attempt(
            row={**won, "score": 0.75, "exact_score": 0.7500001, "isolation": "sandbox", "reason": "stopped after 3s"}
        ),
        attempt(epoch=2, row={"score": "inf"}),
        attempt(epoch=3, row={**won, "score": 1}, counts=False),
        attempt(epoch=4, row={"graded": False}),
    )
    first, infinite, forked, none = one.samples
    assert {k: s.value for k, s in first.scores.items()} == {**won, "any_medal": 1, "above_median": 1, "score": 0.75}
    assert {s.explanation for s in first.scores.values()} == {"stopped after 3s"}
    assert first.scores["score"].metadata == {"medal": "gold", "exact_score": 0.7500001, "isolation": "sandbox"}
    assert first.scores["any_medal"].metadata and first.scores["medal"].metadata is None
    assert infinite.scores["score"].value == "+Inf" and infinite.scores["medal"].value == "none"
    assert forked.scores is None and none.scores is None
    # Of two epochs with a number, and of one sample: no mean over competitions.
    by = {
        s.name: (s.scored_samples, s.unscored_samples, {k: m.value for k, m in s.metrics.items()})
        for s in one.results.scores
    }
    assert by["any_medal"] == (1, 2, {"mean": 0.5, "stderr": 0.0})
    assert by["score"] == (1, 3, {"mean": 0.75, "stderr": 0.0}) and "medal" not in by


def test_means(tmp_path: Path) -> None:
    """The figures are numpy's: the mean, and std with ddof=1 over the root of n."""
    names = ["a", "a", "b", "c"]
    rows = [{"competition": n, "any_medal": bool(m), "score": 1.5} for n, m in zip(names, [1, 0, 1, 0])]
    one = written(tmp_path, *(attempt(row=row, epoch=1 + (i == 1)) for i, row in enumerate(rows)))
    by = {s.name: s for s in one.results.scores}
    metrics = {k: m.value for k, m in by["any_medal"].metrics.items()}
    assert metrics["mean"] == 0.5 and metrics["stderr"] == pytest.approx(0.2886751345948129, rel=1e-12)
    assert by["any_medal"].scored_samples == 3 and by["score"].metrics == {}
    reductions = {r.scorer: [(s.sample_id, s.value) for s in r.samples] for r in one.reductions}
    assert reductions["any_medal"] == [("a", 0.5), ("b", 1), ("c", 0)]


def calling(arguments: str) -> Dict[str, Any]:
    """An exchange in which the model calls two tools."""
    calls = [
        {"id": "c1", "name": "bash", "arguments": arguments},
        {"id": "c2", "name": "deep", "arguments": '{"a":' * 300 + "1" + "}" * 300},
    ]
    reply = {"role": "assistant", "text": "I look.", "reasoning": "Files first.", "calls": calls}
    names = {"input": 100, "output": 7, "cache_read": 30, "cache_write": 5, "reasoning": 2}
    usage = {f"{name}_tokens": n for name, n in names.items()}
    said = [{"role": "user", "text": "Solve it."}]
    return {**EXCHANGE, "said": said, "reply": reply, "usage": usage, "cost_nanodollars": 12300000}


TURNS = [
    {**EXCHANGE, "conversation": 0, "asked": "", "said": None, "reply": {}, "cost_nanodollars": 7},
    calling('{"cmd": "ls \\ud800"}'),
    {
        **EXCHANGE,
        "sequence": 2,
        "time": "2026-01-02T03:04:03Z",
        "said": [
            {
                "role": "tool",
                "results": [{"id": "c1", "text": "no such file", "failed": True}, {"id": "c9", "text": "?"}],
            }
        ],
        "reply": {},
        "status": 500,
        "failed": "it broke",
    },
    {
        **EXCHANGE,
        "sequence": 3,
        "time": "2026-01-02T03:04:09Z",
        "conversation": 2,
        "asked": "s",
        "said": [{"role": "system", "text": "Be terse."}, {"role": "assistant", "text": "hm"}],
        "reply": {"role": "assistant", "text": "ok"},
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "cost_nanodollars": 200000000,
    },
]


def test_conversations(tmp_path: Path) -> None:
    snapshots = [
        {"seconds": 2, "outcome": "scored", "score": 0.5, "medal": ""},
        {"seconds": 4, "outcome": "invalid", "score": None, "medal": ""},
    ]
    one = written(tmp_path, attempt(snapshots=snapshots, recorded=True), turns=TURNS)
    (sample,) = one.samples
    assert sample.input == "Solve it." and sample.output.completion == "I look." and sample.turn_count == 3
    assert [(m.role, m.text) for m in sample.messages] == [
        ("user", "Solve it."),
        ("assistant", "I look."),
        ("tool", "no such file"),
        ("tool", "?"),
    ]
    said, result = sample.messages[1], sample.messages[2]
    assert said.model == "openai/m" and said.content[0].reasoning == "Files first."
    assert said.tool_calls[0].arguments == {"cmd": "ls \ufffd"}  # half of a surrogate pair
    assert list(said.tool_calls[1].arguments) == ["input"]
    assert (result.function, result.tool_call_id, result.error.message) == ("bash", "c1", "no such file")
    kinds = [e.event if e.event == "model" else e.scorer + " of a snapshot" * e.intermediate for e in sample.events]
    assert kinds[:6] == ["model", "score of a snapshot", "model", "score of a snapshot", "model", "any_medal"]
    asked, shot, failed, bad = sample.events[:4]
    assert [m.text for m in asked.input] == ["Solve it."] and len(failed.input) == 4
    assert failed.error == "The model request failed (500): it broke" and failed.output.choices == []
    assert asked.working_start == 0.877 and asked.output.time == 1.5
    assert asked.metadata == {"conversation": "conversation-1", "sequence": 1, "replayed": False}
    used = asked.output.usage
    assert (used.input_tokens, used.input_tokens_cache_read, used.input_tokens_cache_write) == (65, 30, 5)
    assert (used.output_tokens, used.reasoning_tokens, used.total_tokens, used.total_cost) == (7, 2, 107, 0.0123)
    assert shot.score.value == 0.5 and math.isnan(bad.score.value)
    assert bad.score.metadata == {"medal": "none", "outcome": "invalid", "seconds": 4}
    with zipfile.ZipFile(next(tmp_path.iterdir())) as archive:
        for name in archive.namelist():
            json.loads(archive.read(name), parse_constant=pytest.fail)
    costs = {k: (u.total_tokens, u.total_cost) for k, u in sample.model_usage.items()}
    assert costs == {"openai/m": (107, 0.0123), "openai/s": (2, 0.2), "unknown": (0, 7e-9)}
    assert one.eval.model == "openai/m" and one.stats.model_usage == sample.model_usage


def test_claimed_usage(tmp_path: Path) -> None:
    row = {"usage_source": "agent", "model": "m-1", "input_tokens": 12, "cached_input_tokens": 5, "cost_usd": 1.25}
    (sample,) = written(tmp_path, attempt(row=row)).samples
    (used,) = sample.model_usage.values()
    assert list(sample.model_usage) == ["m-1"] and used.total_cost == 1.25
    assert (used.input_tokens, used.input_tokens_cache_read, used.total_tokens) == (7, 5, 12)


@pytest.mark.parametrize(
    ("arguments", "messages"), [('{"a":' * 5000 + "1" + "}" * 5000, 4), ('{"a":1' + "0" * 6000 + "}", 0)]
)
def test_arguments_that_python_does_not_read(tmp_path: Path, arguments: str, messages: int) -> None:
    turns = [calling(arguments), TURNS[2]]
    (sample,) = written(tmp_path, attempt(recorded=True), turns=turns).samples
    assert len(sample.messages) == messages and sample.scores
    if messages:
        assert sample.messages[1].tool_calls[0].arguments.keys() == {"input"}


def test_same_again(tmp_path: Path) -> None:
    """The same attempts give the same bytes, one that differs replaces nothing, and a part writes nothing."""
    folder = tmp_path / "logs"
    written(folder, attempt())
    before = next(folder.iterdir()).read_bytes()
    written(folder, attempt())
    assert next(folder.iterdir()).read_bytes() == before
    with pytest.raises(Wrong, match="already exists and differs"):
        written(folder, attempt(row={"wall_seconds": 1}))
    with pytest.raises(EOFError):
        _inspect._export(io.BytesIO(lines(attempt())[:-2]), tmp_path / "cut", tmp_path / "cut", 1)
    assert [p.name for p in tmp_path.iterdir()] == ["logs"] and next(folder.iterdir()).read_bytes() == before


class Stream(io.RawIOBase):
    """Lines that are made when they are read."""

    def __init__(self, made: Iterator[bytes]) -> None:
        self._made = made

    def readline(self, size: Optional[int] = -1, /) -> bytes:
        return next(self._made)


def test_memory(tmp_path: Path) -> None:
    """An attempt is not held when the next is read."""

    def made(attempts: int) -> Iterator[bytes]:
        yield lines(*[attempt()] * attempts).partition(b"\n")[0] + b"\n"
        for number in range(attempts):
            yield json.dumps(attempt(epoch=number + 1, recorded=True)).encode() + b"\n"
            said = [{"role": "user", "text": str(number) + "x" * (4 << 20)}]
            yield json.dumps({**EXCHANGE, "said": said, "reply": {}}).encode() + b"\n"
            yield b"null\n"

    def peak(attempts: int) -> int:
        folder = tmp_path / str(attempts)
        tracemalloc.start()
        _inspect._export(Stream(made(attempts)), folder, folder, 1)  # type: ignore[arg-type]
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(24) < 2 * peak(4)


def claimed(
    path: Path, usage: str = "{}", more: str = "", method: int = zipfile.ZIP_DEFLATED
) -> Tuple[Dict[str, Any], bytes]:
    head = {"eval": {"created": "2026-01-02T03:04:05+00:00", "task": "t", "dataset": {}, "model": "m", "config": {}}}
    fields = f'"id": "s", "epoch": 1, "input": "i", "target": "", "model_usage": {usage}{more}'
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps(head))
        archive.writestr("samples/s_epoch_1.json", "{" + fields + "}")
    return _inspect._claim(str(path), "s", 1)


def test_claim(tmp_path: Path) -> None:
    usage = (
        '{"b/m": {"input_tokens": 5, "output_tokens": 2, "input_tokens_cache_read": 3},'
        ' "a/m": {"input_tokens": 1, "output_tokens": 1, "total_cost": 0.25}}'
    )
    more = ', "total_time": 9.5, "limit": {"type": "time", "limit": 9}, "scores": {"s": {"value": NaN}}'
    claim, sample = claimed(tmp_path / "a.eval", usage, more)
    assert claim == {
        "agent": "t",
        "format": "Inspect AI",
        "outcome": "timed_out",
        "wall_seconds": 9.5,
        "usage": {
            "model": "a/m b/m",
            "input_tokens": 9,
            "cached_input_tokens": 3,
            "output_tokens": 3,
            "cost_usd": 0.25,
        },
    }
    assert b"NaN" in sample  # as it is in the log
    failed, _ = claimed(tmp_path / "b.eval", more=', "error": {"message": "m", "traceback": "", "traceback_ansi": ""}')
    assert failed["outcome"] == "agent_failed" and failed["usage"] == {"model": ""}


@pytest.mark.parametrize(
    "usage",
    [
        '{"m": {"input_tokens": -5, "input_tokens_cache_read": 10}}',
        '{"m": {"input_tokens": 5, "total_cost": -1}}',
        '{"m": {"output_tokens": -1}}',
    ],
)
def test_claims_below_zero(tmp_path: Path, usage: str) -> None:
    with pytest.raises(Wrong, match="claims what cannot be"):
        claimed(tmp_path / "a.eval", usage)


def test_logs_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    claimed(path)
    with pytest.raises(Wrong, match='no sample "s" in epoch 2; it has s_epoch_1'):
        _inspect._claim(str(path), "s", 2)
    (tmp_path / "x").write_text("{}")
    with pytest.raises(Wrong, match="no log of Inspect AI with the ending .eval"):
        _inspect._claim(str(tmp_path / "x"), "s", 1)
    for header in ("", "[]", '{"eval": {}}', "[" * 100000, '{"eval": {"task": 1' + "0" * 5000 + "}}"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json" if header else "other", header)
        with pytest.raises(Wrong, match="^read header.json: ") as refused:
            _inspect._claim(str(path), "s", 1)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", ["ZIP_DEFLATED", "ZIP_ZSTANDARD"])
def test_damaged_log(tmp_path: Path, method: str) -> None:
    path = tmp_path / "a.eval"
    claimed(path, more=', "store": {"x": "' + "xyz" * 100 + '"}', method=getattr(zipfile, method))
    with zipfile.ZipFile(path) as archive:
        at = archive.getinfo("samples/s_epoch_1.json").header_offset
    data = bytearray(path.read_bytes())
    for n in range(at + 60, at + 80):
        data[n] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(Wrong, match="^read samples/s_epoch_1.json: "):
        _inspect._claim(str(path), "s", 1)


def test_large_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that unpacks to too much is refused before it is held."""
    monkeypatch.setattr(_inspect, "_LARGEST", 1 << 20)
    more = ', "store": {"x": "' + "y" * (64 << 20) + '"}'
    with pytest.raises(Wrong, match="larger than 1 MiB"):
        claimed(tmp_path / "a.eval", more=more, method=zipfile.ZIP_ZSTANDARD)  # type: ignore[attr-defined]


def test_log_of_inspect(tmp_path: Path) -> None:
    """Inspect compresses its own logs with Zstandard."""
    fields = {"created": "2026-01-01T00:00:00+00:00", "task": "t", "solver": "mine", "model": "m"}
    spec = log.EvalSpec(dataset=log.EvalDataset(), config=log.EvalConfig(), **fields)
    sample = log.EvalSample(id="leaf", epoch=1, input="i", target="", total_time=2.5)
    log.write_eval_log(log.EvalLog(status="success", eval=spec, samples=[sample]), str(tmp_path / "a.eval"))
    assert _inspect.main(["import", str(tmp_path / "a.eval"), "leaf", "1"]) == 0
    claim, data = _inspect._claim(str(tmp_path / "a.eval"), "leaf", 1)
    assert (claim["agent"], claim["wall_seconds"]) == ("mine", 2.5) and json.loads(data)["id"] == "leaf"
