"""Logs of Inspect AI: what ``mleflow export inspect`` writes and ``mleflow import inspect`` reads.

The program calls this module in a process of its own. For an export it decides
what is known of each attempt, and sends that as lines of JSON:

* for each log an object with ``agent``, ``run``, ``pipeline``, ``created_ms``,
  ``status``, ``tags``, ``metadata`` and the number of ``samples``;
* then for each attempt an object: its ``row`` of the table of attempts and those
  of the table of ``snapshots``, as ``mleflow export`` writes them, the ``epoch``,
  whether it ``counts`` and whether the agent ``failed``, the ``error`` of a step
  without a result, ``started_ms``, ``ended_ms``, and whether it is ``recorded``;
* then, of an attempt that is recorded, the exchanges with models, as ``_atif``
  reads them, and null.

An attempt is written before the next is read. Its sample is made of the classes
of ``inspect_ai``. The zip file is written here, since their own writer holds a
whole log in memory, and gives other bytes each time.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import sys
import tempfile
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, BinaryIO, Callable, Dict, List, Optional, Sequence, Set, Tuple

from inspect_ai.event import ModelEvent, ScoreEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalSampleLimit,
    EvalSampleReductions,
    EvalSampleScore,
    EvalSampleSummary,
    EvalScore,
    EvalSpec,
    EvalStats,
    EventsData,
)
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import SampleScore, Score, mean, stderr
from inspect_ai.tool import ToolCall, ToolCallError
from pydantic_core import to_json

from . import _atif
from ._atif import Document, Wrong

# The scores of a sample, in the order of the results. The first is the headline.
_SCORERS = ("any_medal", "score", "medal", "above_median", "valid_submission", "percentile")
# The columns that qualify a score.
_ABOUT = (
    "outcome medal rank teams exact_score is_lower_better isolation untrusted conditions task no_score standing"
).split()
# The limits that end an attempt: their type in Inspect, and the column of their value.
_LIMITS = {
    "timed_out": ("time", "time_limit_seconds"),
    "out_of_budget": ("cost", "cost_usd"),
    "out_of_memory": ("custom", "memory_limit_bytes"),
    "out_of_disk": ("custom", ""),
}
# Pydantic does not write arguments of tools that are nested much more deeply.
_DEEPEST = 200
# The fields of a sample that are read. Its conversations may be large, and in the form of a later Inspect.
_CLAIMED = ("id", "epoch", "input", "target", "model_usage", "total_time", "error", "limit")
# The largest document of a log that is read, in bytes.
_LARGEST = 256 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def main(argv: Sequence[str]) -> int:
    """Run ``export DIR CALLED LOGS`` or ``import LOG SAMPLE EPOCH``.

    CALLED is the folder as the person has called it.

    Returns:
        The exit status: 2 if standard error explains a mistake of the person.
    """
    try:
        if argv[0] == "export":
            print(json.dumps(_export(sys.stdin.buffer, Path(argv[1]), Path(argv[2]), int(argv[3]))))
        else:
            claim, sample = _claim(argv[1], argv[2], int(argv[3]))
            sys.stdout.buffer.write(json.dumps(claim).encode() + b"\n" + sample)
    except Wrong as err:
        print(err, file=sys.stderr)
        return 2
    return 0


def _export(lines: BinaryIO, folder: Path, called: Path, logs: int) -> List[Document]:
    """Write all logs next to the folder before any is moved there. A file that is there must be equal."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    written = []
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".mleflow-inspect-") as work:
        for _ in range(logs):
            head = _document(lines)
            log = _Log(head)
            with (Path(work) / log.name).open("xb") as file:
                log.write(file, lines)
            written.append({"path": str(called / log.name), "agent": head["agent"], "samples": head["samples"]})
            there = folder / log.name
            if there.exists() and not filecmp.cmp(Path(work) / log.name, there, shallow=False):
                raise Wrong(f"{called / log.name} already exists and differs; move it away, or write elsewhere")
        folder.mkdir(exist_ok=True)
        for made in Path(work).iterdir():
            os.replace(made, folder / made.name)
    return written


def _line(lines: BinaryIO) -> bytes:
    line = lines.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the program ended early")
    return line


def _document(lines: BinaryIO) -> Document:
    document: Document = json.loads(_line(lines))
    return document


def _conversations(document: Document, lines: BinaryIO) -> Optional[Document]:
    """Read the exchanges of an attempt, and return their conversations as a trajectory.

    There is none if arguments of tools have numbers or nesting that Python's JSON does not read.
    """
    document["exchanges"] = list(_atif.lines(lines)) if document["recorded"] else None
    trajectory = _atif.trajectory({}, document["exchanges"] or [])
    try:
        whole: Optional[Document] = json.loads(_atif.text(trajectory))
    except (RecursionError, ValueError):
        return None
    return whole


def _short(*parts: str) -> str:
    """An identifier in the length of Inspect's."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:22]


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _stamp(milliseconds: int) -> str:
    return _time(milliseconds).isoformat(timespec="milliseconds")


class _Log:
    """A log while it is written: what is known of it as a whole."""

    def __init__(self, head: Document) -> None:
        self.head = head
        self.task = head["pipeline"].removesuffix(".hcl") + "/" + head["agent"]
        self.id = _short(head["run"], head["agent"])
        clean = "".join(c if c.isascii() and c.isalnum() or c in "-." else "-" for c in self.task)
        self.name = f"{_time(head['created_ms']):%Y-%m-%dT%H-%M-%S+00-00}_{clean}_{self.id}.eval"
        self.summaries: List[EvalSampleSummary] = []
        self._taken: Set[Tuple[str, int]] = set()

    def write(self, file: BinaryIO, lines: BinaryIO) -> None:
        """Write the log as its attempts are read."""
        with zipfile.ZipFile(file, "w") as archive:
            for _ in range(self.head["samples"]):
                document = _document(lines)
                (document["row"],) = _rows(document["row"])
                talk = _conversations(document, lines)
                sample = _Sample(self.head["run"], self._place(document), document).made(talk)
                self._add(archive, f"samples/{sample.id}_epoch_{sample.epoch}.json", _json(sample))
                self.summaries.append(sample.summary())
            reductions = self._reductions()
            log = self._header(reductions)
            self._add(archive, "_journal/start.json", _json(log, include={"version", "eval", "plan"}))
            self._add(archive, "summaries.json", _json(self.summaries))
            self._add(archive, "reductions.json", _json(reductions))
            self._add(archive, "header.json", _json(log))

    @staticmethod
    def _add(archive: zipfile.ZipFile, name: str, text: bytes) -> None:
        """Add a document with a fixed time, and a compression that all versions of Inspect read."""
        info = zipfile.ZipInfo(name)
        info.external_attr = 0o644 << 16
        archive.writestr(info, text, zipfile.ZIP_DEFLATED)

    def _place(self, document: Document) -> str:
        """Name the sample of an attempt.

        Attempts that agree in competition and epoch, such as those of two
        steps, are told apart by their addresses.
        """
        row, epoch = document["row"], document["epoch"]
        name = str(row["competition"])
        if row.get("competition_version", "v1") != "v1":
            name += "@" + row["competition_version"]
        for more in (row.get("address"), row.get("grade_address")):
            if more and (name, epoch) in self._taken:
                name += " " + more
        number = 2
        while (name, epoch) in self._taken:
            name, number = f"{name} #{number}", number + 1
        self._taken.add((name, epoch))
        return name.replace("/", "-")

    def _header(self, reductions: List[EvalSampleReductions]) -> EvalLog:
        usage: Dict[str, ModelUsage] = {}
        for summary in self.summaries:
            for model, used in summary.model_usage.items():
                _add_usage(usage, model, used)
        failed = [s for s in self.summaries if s.error]
        ids = list(dict.fromkeys(s.id for s in self.summaries))
        head = self.head
        return EvalLog(
            version=2,
            status=head["status"],
            eval=EvalSpec(
                eval_id=self.id,
                run_id=_short(head["run"]),
                created=_stamp(head["created_ms"]),
                task=self.task,
                task_id=_short("task", self.task),
                solver=head["agent"],
                tags=head["tags"],
                metadata=head["metadata"],
                dataset=EvalDataset(name=head["pipeline"], samples=len(ids), sample_ids=ids, shuffled=False),
                model=min(usage, key=lambda m: (-usage[m].total_tokens, m), default="none/none"),
                config=EvalConfig(epochs=max(s.epoch for s in self.summaries), epochs_reducer=["mean"]),
            ),
            plan=EvalPlan(name="plan", steps=[EvalPlanStep(solver=head["agent"])]),
            results=self._results(reductions),
            stats=EvalStats(
                started_at=min((s.started_at for s in self.summaries if s.started_at), default=""),
                completed_at=max((s.completed_at for s in self.summaries if s.completed_at), default=""),
                model_usage=usage,
            ),
            error=_error(f"{failed[0].id}: {failed[0].error}") if failed and head["status"] == "error" else None,
        )

    def _reductions(self) -> List[EvalSampleReductions]:
        """Average the numbers of each score over the epochs of a sample."""
        reductions = []
        for name in _SCORERS:
            values: Dict[str, List[float]] = {}
            for summary in self.summaries:
                if _numeric(summary, name):
                    values.setdefault(summary.id, []).append(float(summary.scores[name].value))
            means = [EvalSampleScore(value=sum(v) / len(v), sample_id=k) for k, v in values.items()]
            if means:
                reductions.append(EvalSampleReductions(scorer=name, reducer="mean", samples=means))
        return reductions

    def _results(self, reductions: List[EvalSampleReductions]) -> EvalResults:
        """Compute means and standard errors over samples. Scores of different competitions have no mean."""
        scores = []
        for reduction in reductions:
            samples = [SampleScore(score=Score(value=s.value), sample_id=s.sample_id) for s in reduction.samples]
            metrics = {}
            if reduction.scorer != "score" or len(samples) == 1:
                for name, metric in (("mean", mean()), ("stderr", stderr())):
                    metrics[name] = EvalMetric(name=name, value=float(metric(samples)))
            scores.append(
                EvalScore(
                    name=reduction.scorer,
                    scorer=reduction.scorer,
                    reducer="mean",
                    scored_samples=len(samples),
                    unscored_samples=sum(not _numeric(s, reduction.scorer) for s in self.summaries),
                    metrics=metrics,
                )
            )
        done = sum(not s.error for s in self.summaries)
        return EvalResults(total_samples=len(self.summaries), completed_samples=done, scores=scores)


def _json(model: Any, include: Optional[Set[str]] = None) -> bytes:
    """Write a document. What is not a number is null, since NaN is not JSON; events of scores insist on it."""
    text: bytes = to_json(model, include=include, exclude_none=True, inf_nan_mode="null")
    return text.replace(b'"value":NaN', b'"value":null')


def _rows(rows: List[Document]) -> List[Document]:
    """Leave out missing values."""
    return [{k: v for k, v in row.items() if v is not None and v != ""} for row in rows]


def _error(message: str) -> EvalError:
    return EvalError(message=message, traceback="", traceback_ansi="")


def _numeric(summary: EvalSampleSummary, name: str) -> bool:
    return name in (summary.scores or {}) and isinstance(summary.scores[name].value, (int, float))


class _Sample:
    """A sample while it is made."""

    def __init__(self, run: str, name: str, document: Document) -> None:
        self.document, self.row, self.name = document, document["row"], name
        self.uuid = _short(run, name, str(document["epoch"]))
        self.started = _time(document["started_ms"])
        self.messages: List[Any] = []  # of all conversations, one after another
        self.events: List[Any] = []

    def made(self, trajectory: Optional[Document]) -> EvalSample:
        """Make the sample. The longest conversation is its messages."""
        document, row = self.document, self.row
        messages = self._converse(trajectory) if trajectory else []
        for other in (trajectory or {}).get("subagent_trajectories", []):
            self._converse(other)
        asked = [m.content for m in messages if m.role == "user"]
        said = [m for m in messages if m.role == "assistant"]
        output = ModelOutput(model="", choices=[])
        if said:
            output = ModelOutput(model=said[-1].model, choices=[_choice(said[-1])])
        turns = len(self.events)
        scores = self._scores() if row.get("graded") else None
        self.events.sort(key=lambda e: e.working_start)
        for number, event in enumerate(self.events):
            event.uuid = f"{self.uuid}-e{number}"
        limit, seconds = self._limit(), row.get("time_limit_seconds")
        return EvalSample(
            id=self.name,
            epoch=document["epoch"],
            input=asked[0] if asked else row["competition"],
            target="",
            metadata=row,
            messages=messages,
            output=output,
            scores=scores,
            events=self.events,
            events_data=EventsData(messages=self.messages, calls=[]) if trajectory else None,
            model_usage=self._usage(),
            started_at=_stamp(document["started_ms"]),
            completed_at=_stamp(document["ended_ms"]),
            total_time=row.get("wall_seconds"),
            uuid=self.uuid,
            turn_count=turns or None,
            time_limit=None if seconds is None else int(seconds),
            error=self._mistake(limit),
            limit=limit,
        )

    def _mistake(self, limit: Optional[EvalSampleLimit]) -> Optional[EvalError]:
        """Find the error of an attempt that failed and that no limit stopped."""
        if self.document["failed"] and limit is None:
            return _error(": ".join(filter(None, (self.row["attempt_outcome"], self.row.get("reason")))))
        return _error(self.document["error"]) if self.document["error"] else None

    def _limit(self) -> Optional[EvalSampleLimit]:
        outcome = self.row.get("attempt_outcome", "")
        if outcome not in _LIMITS:
            return None
        kind, column = _LIMITS[outcome]
        return EvalSampleLimit(type=kind, limit=self.row.get(column, 0), reason=outcome)

    def _usage(self) -> Dict[str, ModelUsage]:
        """Add up the exchanges by model; without a transcript, take what the columns say."""
        row = self.row
        if self.document["exchanges"] is None:
            if "usage_source" not in row:
                return {}
            names = {"input": "input_tokens", "cache_read": "cached_input_tokens", "output": "output_tokens"}
            claimed = {f"{name}_tokens": int(row.get(column, 0)) for name, column in names.items()}
            return {row.get("model", "unknown"): _used(claimed, row.get("cost_usd", 0))}
        by: Dict[str, ModelUsage] = {}
        for exchange in self.document["exchanges"]:
            reported, cost = exchange.get("usage"), exchange.get("cost_nanodollars", 0)
            if reported or cost > 0:
                model = _model(exchange["provider"], exchange.get("asked", ""))
                _add_usage(by, model, _used(reported or {}, cost / 1e9))
        return by

    def _scores(self) -> Optional[Dict[str, Score]]:
        """Enter the scores of an attempt that counts, and the graded snapshots of any.

        There is no score without a number.
        """
        row, document = self.row, self.document
        for snapshot in document["snapshots"]:
            about = {"medal": snapshot["medal"] or "none", **{k: snapshot[k] for k in ("outcome", "seconds")}}
            value = float("nan") if snapshot["score"] is None else snapshot["score"]
            at = document["started_ms"] + 1000 * snapshot["seconds"]
            self._scored("score", Score(value=value, metadata=about), at, intermediate=True)
        if not document["counts"]:
            return None
        values = {name: int(row[name]) for name in ("any_medal", "above_median", "valid_submission")}
        values["medal"] = row.get("medal", "none")
        if "score" in row:
            values["score"] = {"inf": "+Inf", "-inf": "-Inf"}.get(row["score"], row["score"])
        if "percentile" in row:
            values["percentile"] = row["percentile"]
        scores = {}
        for name in filter(values.__contains__, _SCORERS):
            told = {k: row[k] for k in _ABOUT if k in row} if name in ("any_medal", "score") else None
            scores[name] = Score(value=values[name], explanation=row.get("reason"), metadata=told)
            self._scored(name, scores[name], document["ended_ms"])
        return scores

    def _scored(self, scorer: str, score: Score, at: int, intermediate: bool = False) -> None:
        since = max(0, at - self.document["started_ms"]) / 1000
        self.events.append(
            ScoreEvent(timestamp=_time(at), working_start=since, score=score, intermediate=intermediate, scorer=scorer)
        )

    def _converse(self, trajectory: Document) -> List[Any]:
        """Enter a conversation, with its exchanges as events, and return its messages."""
        first = len(self.messages)
        functions: Dict[str, str] = {}
        default = trajectory["agent"].get("model_name", "")
        for step in trajectory["steps"]:
            extra = step.get("extra", {})
            model = _model(extra.get("provider", ""), step.get("model_name", default))
            said = self._assistant(step, model) if step["source"] == "agent" else None
            if "sequence" in extra:
                self._exchange(trajectory["trajectory_id"], step, model, said, first)
            if said:
                self.messages.append(said)
            elif "sequence" not in extra and step["message"]:
                role = ChatMessageSystem if step["source"] == "system" else ChatMessageUser
                self.messages.append(role(id=self._id(), content=step["message"], source="input"))
            functions.update((c["tool_call_id"], c["function_name"]) for c in step.get("tool_calls", []))
            for result in step.get("observation", {}).get("results", []):
                self.messages.append(self._result(result, functions))
        return self.messages[first:]

    def _id(self) -> str:
        return f"{self.uuid}-{len(self.messages)}"

    def _assistant(self, step: Document, model: str) -> ChatMessageAssistant:
        content: Any = step["message"]
        if step.get("reasoning_content"):
            content = [ContentReasoning(reasoning=step["reasoning_content"]), ContentText(text=content)]
        calls = [
            ToolCall(id=c["tool_call_id"], function=c["function_name"], arguments=_arguments(c["arguments"]))
            for c in step.get("tool_calls", [])
        ]
        return ChatMessageAssistant(
            id=self._id(), content=content, source="generate", model=model, tool_calls=calls or None
        )

    def _result(self, result: Document, functions: Dict[str, str]) -> ChatMessageTool:
        call, failed = result.get("source_call_id"), result.get("extra", {}).get("is_error")
        return ChatMessageTool(
            id=self._id(),
            content=result["content"],
            tool_call_id=call,
            function=functions.get(call or "") or None,
            error=ToolCallError(type="unknown", message=result["content"]) if failed else None,
        )

    def _exchange(
        self, conversation: str, step: Document, model: str, said: Optional[ChatMessageAssistant], first: int
    ) -> None:
        """Record a request with the conversation so far, and its reply."""
        extra, metrics = step["extra"], step.get("metrics")
        used = None
        if metrics:
            named = metrics.get("extra", {})
            used = {k: named.get(k, 0) for k in ("cache_write_tokens", "reasoning_tokens")}
            used.update(input_tokens=metrics["prompt_tokens"], cache_read_tokens=metrics.get("cached_tokens", 0))
            used.update(output_tokens=metrics["completion_tokens"])
        at = datetime.fromisoformat(step["timestamp"].replace("Z", "+00:00"))
        self.events.append(
            ModelEvent(
                timestamp=at,
                working_start=max(0.0, (at - self.started).total_seconds()),
                metadata={
                    "conversation": conversation,
                    "sequence": extra["sequence"],
                    "replayed": extra.get("replayed", False),
                },
                model=model,
                input=[],
                input_refs=[(first, len(self.messages))],
                tools=[],
                tool_choice="auto",
                config=GenerateConfig(),
                output=ModelOutput(
                    model=model,
                    choices=[_choice(said)] if said else [],
                    usage=_used(used, metrics["cost_usd"]) if metrics and used else None,
                    time=extra.get("seconds") or None,
                ),
                error=extra.get("error") if said else step["message"],
            )
        )


def _model(provider: str, model: str) -> str:
    """Inspect's form of a model's name, with its provider."""
    return "unknown" if not model else f"{provider}/{model}" if provider else model


def _used(used: Document, cost: float) -> ModelUsage:
    """Inspect's form of the use of a model, whose input excludes tokens of a cache."""
    read, output = used.get("input_tokens", 0), used.get("output_tokens", 0)
    cached, stored = used.get("cache_read_tokens", 0), used.get("cache_write_tokens", 0)
    return ModelUsage(
        input_tokens=read - cached - stored,
        output_tokens=output,
        total_tokens=read + output,
        input_tokens_cache_read=cached,
        input_tokens_cache_write=stored,
        reasoning_tokens=used.get("reasoning_tokens", 0),
        total_cost=cost,
    )


def _add_usage(to: Dict[str, ModelUsage], model: str, used: ModelUsage) -> None:
    to[model] = to[model] + used if model in to else used
    to[model].total_cost = round(to[model].total_cost, 9)  # costs are billionths of a dollar


def _choice(said: ChatMessageAssistant) -> ChatCompletionChoice:
    return ChatCompletionChoice(message=said, stop_reason="tool_calls" if said.tool_calls else "stop")


def _arguments(arguments: Document) -> Document:
    """Replace halves of surrogate pairs, which no validator takes, and arguments that are nested too deeply."""
    text = json.dumps(arguments, ensure_ascii=False)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if text.count("{") + text.count("[") > _DEEPEST and _depth(text) > _DEEPEST:
        return {"input": text}
    whole: Document = json.loads(text)
    return whole


def _depth(text: str) -> int:
    """The deepest nesting of JSON, or more where strings have brackets."""
    depth = deepest = 0
    for char in text:
        depth += (char in "[{") - (char in "]}")
        deepest = max(deepest, depth)
    return deepest


def _claim(path: str, sample: str, epoch: int) -> Tuple[Document, bytes]:
    """Read what a sample of a log claims of an attempt, and the sample itself."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as err:
        raise Wrong(
            f"it is no log of Inspect AI with the ending .eval (inspect log convert --to eval makes one): {err}"
        ) from None
    with archive:
        spec = _read("header.json", _member(archive, "header.json"), lambda head: EvalSpec.model_validate(head["eval"]))
        name = f"samples/{sample}_epoch_{epoch}.json"
        if name not in archive.namelist():
            raise Wrong(f'the log has no sample "{sample}" in epoch {epoch}; it has {_samples(archive)}')
        data = _member(archive, name)
    read = _read(name, data, lambda found: EvalSample.model_validate({k: found[k] for k in _CLAIMED if k in found}))
    usage: Dict[str, float] = {}
    for model, used in read.model_usage.items():
        cached, stored = used.input_tokens_cache_read or 0, used.input_tokens_cache_write or 0
        figures = {
            "input_tokens": used.input_tokens + cached + stored,
            "cached_input_tokens": cached,
            "output_tokens": used.output_tokens,
        }
        if used.total_cost is not None:
            figures["cost_usd"] = used.total_cost
        if min(used.input_tokens, stored, *figures.values()) < 0:
            raise Wrong(f'model_usage of "{model}" claims what cannot be: an amount below 0')
        for key, value in figures.items():
            usage[key] = usage.get(key, 0) + value
    timed_out = "timed_out" if read.limit and read.limit.type == "time" else ""
    return {
        "agent": spec.solver or spec.task,
        "format": "Inspect AI",
        "outcome": "agent_failed" if read.error else timed_out,
        "wall_seconds": read.total_time,
        "usage": {"model": " ".join(sorted(read.model_usage)), **usage},
    }, data


def _read(name: str, data: bytes, made: Callable[[Document], Any]) -> Any:
    """Make an object of Inspect's of a document that may be anything."""
    try:
        return made(json.loads(data))
    except (ValueError, KeyError, TypeError, RecursionError) as err:
        raise Wrong(f"read {name}: " + " ".join(str(err).split())[:300]) from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a document of a log, in pieces that cannot unpack to much more than the limit."""
    data = bytearray()
    try:
        with archive.open(name) as file:
            while len(data) <= _LARGEST and (piece := file.read(4096)):
                data += piece
    except Exception as err:  # each compression has its own
        raise Wrong(f"read {name}: {err}") from None
    if len(data) > _LARGEST:
        raise Wrong(f"read {name}: it is larger than {_LARGEST >> 20} MiB")
    return bytes(data)


def _samples(archive: zipfile.ZipFile) -> str:
    """Name the first samples of a log."""
    names = [n[len("samples/") :].removesuffix(".json") for n in archive.namelist() if n.startswith("samples/")]
    return ", ".join(names[:10] + ["…"] * (len(names) > 10)) or "none"
