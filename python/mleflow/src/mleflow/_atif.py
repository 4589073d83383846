"""Trajectories in ATIF: what ``mleflow export atif`` writes and ``mleflow import atif`` reads.

ATIF is the Agent Trajectory Interchange Format that Harbor reads, in version 1.7.
The program calls this module in a process of its own. For an export it sends
lines of JSON: an object with ``session``, ``agent``, ``version`` and ``extra``, an
object for each exchange with a model, as ``mleflow logs --transcript --json``
prints it with the ``tools`` of its request, and null.

The longest conversation is the trajectory. Others, such as those of subagents,
are embedded in it. Each exchange is a step of the agent, with its tokens and
cost. The results of tools are the observation of the step that called them.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Sequence, Tuple

Document = Dict[str, Any]

# The largest trajectory that is read, in bytes, and the amounts beyond which nobody believes one.
_LARGEST = 256 << 20
_MOST = {"prompt_tokens": 1e15, "completion_tokens": 1e15, "cached_tokens": 1e15, "cost_usd": 1e9}
# The names of those amounts in a claim.
_NAMES = {"prompt_tokens": "input_tokens", "cached_tokens": "cached_input_tokens", "completion_tokens": "output_tokens"}
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)")


class Wrong(Exception):
    """A mistake that its text explains to a person."""


class Json(str):
    """A value as it is spelled in JSON."""


def main(argv: Sequence[str]) -> int:
    """Run ``export`` or ``import TRAJECTORY``.

    Returns:
        The exit status: 2 if standard error explains a mistake of the person.
    """
    try:
        if argv[0] == "export":
            run, *turns = lines(sys.stdin.buffer)
            sys.stdout.buffer.write(text(trajectory(run, turns)).encode())
        else:
            claim, data = _claim(Path(argv[1]))
            sys.stdout.buffer.write(json.dumps(claim).encode() + b"\n" + data)
    except Wrong as err:
        print(err, file=sys.stderr)
        return 2
    return 0


def lines(stream: BinaryIO) -> Iterator[Document]:
    """Read objects up to a null. Fractions keep their spelling."""
    while True:
        line = stream.readline()
        if not line.endswith(b"\n"):
            raise EOFError("the program ended early")
        document = json.loads(line, parse_float=Json)
        if document is None:
            return
        yield document


def text(value: Any) -> str:
    """Encode a value that may have parts in JSON."""
    if isinstance(value, Json):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + text(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    # As the program spells strings.
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def trajectory(run: Document, turns: Sequence[Document]) -> Optional[Document]:
    """Make a trajectory of exchanges, or none if they have no conversation."""
    by: Dict[int, _Conversation] = {}
    for turn in turns:
        number = turn["conversation"]
        if number:
            by.setdefault(number, _Conversation()).add(turn)
    if not by:
        return None
    root = max(by, key=lambda number: len(by[number].steps))
    made = {number: conversation.made(run, number) for number, conversation in by.items()}
    whole = made.pop(root)
    whole["final_metrics"]["total_cost_usd"] = _dollars(sum(c.cost for c in by.values()))
    others = list(made.values())
    return {**whole, **_given(extra=_sorted(run.get("extra") or {}), subagent_trajectories=others)}


class _Conversation:
    """A trajectory while it is made."""

    def __init__(self) -> None:
        self.steps: List[Document] = []
        self.cost = 0  # in billionths of a dollar
        self._tools: List[Document] = []
        self._models: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._last: Optional[Document] = None  # the last step of the agent, whose calls await results

    def add(self, turn: Document) -> None:
        """Append the steps of an exchange."""
        at = _stamp(turn["time"])
        for message in turn["said"] or []:
            self._say(message, at)
        self._tools = turn.get("tools") or self._tools
        reply, status, extra = turn["reply"], turn["status"], _exchange(turn)
        if turn.get("refused") or status == 0 or status >= 400:
            why = reply.get("error") or turn.get("refused") or turn.get("failed") or "the client left"
            self._step("system", f"The model request failed ({status}): {why}", at, extra=extra)
            return
        model = turn.get("asked", "")
        self._models[model] += 1
        if "error" in reply:
            extra["error"] = reply["error"]
        self._last = self._step(
            "agent",
            reply.get("text", ""),
            at,
            model_name=model,
            reasoning_content=reply.get("reasoning"),
            tool_calls=self._calls(reply),
            metrics=_metrics(turn),
            llm_call_count=1,
            extra=_sorted(extra),
        )
        used = turn.get("usage") or {}
        for name in ("input_tokens", "output_tokens", "cache_read_tokens"):
            self._tokens[name] += used.get(name, 0)
        self.cost += turn.get("cost_nanodollars", 0)

    def _step(self, source: str, message: str, at: str, **more: Any) -> Document:
        """Append a step. The order of its members is fixed."""
        names = "model_name reasoning_content tool_calls observation metrics is_copied_context llm_call_count extra"
        step: Document = {"step_id": len(self.steps) + 1, "timestamp": at, "source": source}
        step.update(model_name=None, message=message)
        step.update((name, more.get(name)) for name in names.split())
        self.steps.append(step)
        return step

    def _say(self, message: Document, at: str) -> None:
        """Append a message of a request."""
        role, said = message["role"], message.get("text", "")
        if role == "assistant":  # not from a recorded exchange
            self._last = self._step(
                "agent",
                said,
                "",
                reasoning_content=message.get("reasoning"),
                tool_calls=self._calls(message),
                is_copied_context=True,
            )
        elif role == "tool":
            self._observe(message.get("results", []), at)
            if said:
                self._step("user", said, at)
        else:
            self._step(role, said, at)

    def _observe(self, results: List[Document], at: str) -> None:
        """Add results to the step that called the tools."""
        if not results:
            return
        step = self._last or self._step("system", "", at)
        seen = (step["observation"] or {"results": []})["results"]
        step["observation"] = {"results": seen}
        for result in results:
            extra = {"is_error": True} if result.get("failed") else None
            call = _call_of(step["tool_calls"] or [], seen, result)
            seen.append({**_given(source_call_id=call), "content": result["text"], **_given(extra=extra)})

    def _calls(self, message: Document) -> List[Document]:
        """Convert the calls of the next step."""
        return [
            {
                "tool_call_id": call.get("id") or f"call-{len(self.steps) + 1}-{number}",
                "function_name": call["name"],
                "arguments": _arguments(call.get("arguments", "")),
            }
            for number, call in enumerate(message.get("calls", []), 1)
        ]

    def made(self, run: Document, number: int) -> Document:
        """Return the trajectory. The most used model is the agent's, and the steps of others name theirs."""
        model = min(self._models, key=lambda m: (-self._models[m], m), default="")
        for step in self.steps:
            if step["model_name"] == model:
                step["model_name"] = None
        tools = [
            {
                "type": "function",
                "function": {
                    "name": tool["name"],
                    **_given(description=tool.get("description")),
                    **({"parameters": Json(tool["parameters"])} if tool.get("parameters") else {}),
                },
            }
            for tool in self._tools
        ]
        return {
            "schema_version": "ATIF-v1.7",
            **_given(session_id=run.get("session")),
            "trajectory_id": f"conversation-{number}",
            "agent": {
                "name": run.get("agent") or "unknown",
                "version": run.get("version") or "unknown",
                **_given(model_name=model, tool_definitions=tools),
            },
            "steps": [{k: v for k, v in step.items() if v or k == "message"} for step in self.steps],
            "final_metrics": {
                "total_prompt_tokens": self._tokens["input_tokens"],
                "total_completion_tokens": self._tokens["output_tokens"],
                "total_cached_tokens": self._tokens["cache_read_tokens"],
                "total_cost_usd": _dollars(self.cost),
                "total_steps": len(self.steps),
            },
        }


def _call_of(calls: List[Document], seen: List[Document], result: Document) -> str:
    """Find the call of a result. Some dialects only name the tool: it is then the first call without a result."""
    answered = {r.get("source_call_id") for r in seen}
    wanted, name = result.get("id", ""), result.get("name", "")
    for call in calls:
        made = str(call["tool_call_id"])
        if made == wanted or not wanted and made not in answered and name in ("", call["function_name"]):
            return made
    return ""


def _arguments(arguments: str) -> Json:
    """Spell arguments as an object. What is none becomes the argument "input"."""
    try:
        whole = json.loads(arguments, parse_int=str, parse_constant=_refuse)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return Json(arguments)
    return Json(json.dumps({"input": arguments} if arguments else {}))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _exchange(turn: Document) -> Document:
    """Collect the details of an exchange for which the format has no field."""
    extra = {"sequence": turn["sequence"], "model_block": turn["model"], "provider": turn["provider"]}
    extra["seconds"] = turn["seconds"]
    for name in ("first_byte_seconds", "waited_seconds", "replayed"):
        if name in turn:
            extra[name] = turn[name]
    if turn["status"] != 200:
        extra["status"] = turn["status"]
    return _sorted(extra)


def _metrics(turn: Document) -> Document:
    used = turn.get("usage")
    extra: Document = {}
    if used:
        extra = {f"{name}_tokens": used.get(f"{name}_tokens", 0) for name in ("cache_write", "reasoning")}
    if turn.get("estimated"):  # older transcripts have no usage then
        extra["cost_is_estimate"] = True
    elif not turn.get("reported"):
        extra = {"cost_is_reservation": True}
    used = used or {}
    return {
        "prompt_tokens": used.get("input_tokens", 0),
        "completion_tokens": used.get("output_tokens", 0),
        **_given(cached_tokens=used.get("cache_read_tokens")),
        "cost_usd": _dollars(turn.get("cost_nanodollars", 0)),
        **_given(extra=_sorted(extra)),
    }


def _given(**members: Any) -> Document:
    """Leave out members without a value."""
    return {name: value for name, value in members.items() if value}


def _sorted(members: Document) -> Document:
    return dict(sorted(members.items()))


def _dollars(nano: int) -> Json:
    """Spell an amount as the program does: with an exponent only below a millionth."""
    if nano % 1_000_000_000 == 0:
        return Json(nano // 1_000_000_000)
    if abs(nano) < 1000:
        return Json(repr(nano / 1e9).replace("e-0", "e-"))
    return Json(f"{nano / 1e9:.9f}".rstrip("0"))


def _stamp(time: str) -> str:
    """Cut a time to milliseconds. The program sends it in UTC, and the zero time if it is unknown."""
    head, _, fraction = time.rstrip("Z").partition(".")
    return "" if time.startswith("0001-01-01T00:00:00") else f"{head}.{fraction[:3]:0<3}Z"


def _claim(path: Path) -> Tuple[Document, bytes]:
    """Read what a trajectory claims of an attempt. Its totals count if it has them, else the sums of its steps."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise Wrong(f"it is larger than {_LARGEST >> 20} MiB")
    try:
        whole = json.loads(data, parse_constant=lambda _: None)
        version, agent, steps = str(whole["schema_version"]), whole["agent"], whole["steps"]
        valid = version.startswith("ATIF-v1.") and isinstance(agent["name"], str) and agent["name"] and steps
        model = agent.get("model_name") or ""
        counted = [_figures(step.get("metrics") or {}) for step in steps if step.get("metrics") is not None]
        stated = _figures(whole.get("final_metrics") or {}, "total_")
        times = [at for at in map(_nanoseconds, (step.get("timestamp") for step in steps)) if at is not None]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as err:
        why = " ".join(str(err).split())[:300]
        raise Wrong(f"it is no trajectory in ATIF: {type(err).__name__}: {why}") from None
    if not valid or not isinstance(model, str):
        raise Wrong("it is no trajectory in ATIF 1: that has schema_version ATIF-v1…, agent.name and steps")
    sums: Dict[str, float] = {}
    for figures in counted:
        for name, value in figures.items():
            sums[name] = sums.get(name, 0) + value
    usage: Document = {_NAMES.get(name, name): value for name, value in {**sums, **stated}.items()}
    if counted:
        usage["requests"] = len(counted)
    seconds = None
    if times and max(times) > min(times):
        whole_seconds, rest = divmod(max(times) - min(times), 10**9)
        seconds = whole_seconds + rest / 1e9
    usage = {"model": model, **usage}
    return {"agent": agent["name"], "format": version, "wall_seconds": seconds, "usage": usage}, data


def _figures(metrics: Document, prefix: str = "") -> Dict[str, float]:
    """Read the amounts of a step or of all, and refuse those that no attempt can have used."""
    figures: Dict[str, float] = {}
    for name, most in _MOST.items():
        value = metrics.get(prefix + name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{prefix + name} is no number")
        if not 0 <= value <= most or not math.isfinite(value):
            raise Wrong(f"it claims what cannot be: {value} is no amount of {prefix + name}: it is from 0 to {most:g}")
        figures[name] = value
    if figures.get("cached_tokens", 0) > figures.get("prompt_tokens", math.inf):
        shown = f"{figures['cached_tokens']} of {figures['prompt_tokens']} tokens"
        raise Wrong(f"it claims what cannot be: {shown} from a cache")
    return figures


def _nanoseconds(stamp: Any) -> Optional[int]:
    """Read a time, or none if it is no time."""
    found = _TIME.fullmatch(stamp) if isinstance(stamp, str) else None
    if not found:
        return None
    try:
        at = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
    except ValueError:
        return None
    seconds = (at - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()
    return int(seconds) * 10**9 + int((found[2] or "0")[:9].ljust(9, "0"))
