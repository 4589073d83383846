"""Rollouts: attempts that a trainer asks a server for, with their rewards and tokens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, TypeVar

from ._errors import Diagnostic, Error
from ._frames import Record

if TYPE_CHECKING:
    from ._server import Server

# Seconds that the server may hold an answer back, and how many rollouts may be awaited at once.
_HELD, _AWAITED = 20, 1024

_pool: Optional[ThreadPoolExecutor] = None
T = TypeVar("T")


@dataclass(frozen=True)
class Turn:
    """An exchange with the model.

    Attributes:
        prompt_ids: All tokens that the model saw.
        completion_ids: Tokens that it sampled.
        completion_logprobs: Their log-probabilities.
        prompt: Messages of the conversation up to here, as in transcripts.
        reply: The model's message.
    """

    prompt_ids: List[int]
    completion_ids: List[int]
    completion_logprobs: List[float]
    prompt: List[Record]
    reply: Record


@dataclass(frozen=True)
class Trajectory:
    """One sequence of tokens of an attempt, as a line of ``mleflow export trajectories``.

    Attributes:
        prompt_ids: Tokens of the first prompt.
        completion_ids: All tokens after it.
        completion_mask: 1 for a token that the model sampled, otherwise 0.
        completion_logprobs: Log-probability of each sampled token; None for any other.
        messages: The conversation at the end.
        tools: Tools that the model was offered.
        calls: Where the tokens of each exchange begin.
        broken: Why this continues no earlier trajectory; None for the first.
        attempt: The attempt's row, with its score.
    """

    prompt_ids: List[int]
    completion_ids: List[int]
    completion_mask: List[int]
    completion_logprobs: List[Optional[float]]
    messages: List[Record]
    tools: List[Record]
    calls: List[Record]
    broken: Optional[Record]
    attempt: Record

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Trajectory:
        """Take a line of ``mleflow export trajectories``."""
        return cls(
            list(line["prompt_ids"]), list(line["completion_ids"]), list(line["completion_mask"]), list(line["completion_logprobs"]),
            list(line.get("messages") or []), list(line.get("tools") or []), list(line["calls"]),
            line.get("break"), dict(line.get("attempt") or {}),
        )  # fmt: skip

    @property
    def sampled(self) -> int:
        """How many tokens the model sampled."""
        return sum(self.completion_mask)

    def turns(self) -> List[Turn]:
        """Return the exchanges in order. Each prompt begins with all tokens before it."""
        ids, first = self.prompt_ids + self.completion_ids, len(self.prompt_ids)
        # What an agent put into the history itself comes before what the model answered.
        said = [i for i, m in enumerate(self.messages) if m.get("role") == "assistant"][-len(self.calls) :]
        places: List[Optional[int]] = [*[None] * (len(self.calls) - len(said)), *said]
        turns = []
        for call, at in zip(self.calls, places):
            start, end = int(call["start"]), int(call["start"]) + int(call["sampled"])
            known = [p for p in self.completion_logprobs[start - first : end - first] if p is not None]
            prompt, reply = (self.messages, {"role": "assistant"}) if at is None else (self.messages[:at], self.messages[at])
            turns.append(Turn(ids[:start], ids[start:end], known, prompt, reply))
        return turns


class Rollout:
    """An attempt that a trainer asked a server for.

    Attributes:
        id: Its id.
        key: The idempotency key: the same key is the same rollout.
    """

    def __init__(self, server: Server, entry: Mapping[str, Any]) -> None:
        """Take what the server says of a rollout."""
        self._server, self._entry = server, entry
        self.id, self.key = str(entry["id"]), str(entry["key"])
        self._path = "rollouts/" + urllib.parse.quote(self.id, safe="")

    def __repr__(self) -> str:
        return f"Rollout({self.id!r}, state={self.state!r})"

    @property
    def state(self) -> str:
        """State when the server was last asked: queued, running, grading, done, cancelled or failed."""
        return str(self._entry["state"])

    @property
    def result(self) -> Optional[Record]:
        """Result once it is done: reward, parts, turns, tokens, cost_usd, outcome, integrity, attempt and run."""
        found = self._entry.get("result")
        return dict(found) if found else None

    @property
    def reward(self) -> float:
        """The reward. ValueError before the rollout has one."""
        found = (self.result or {}).get("reward")
        if found is None:
            raise ValueError(f"rollout {self.id} is {self.state} and has no reward; wait for it first")
        return float(found)

    @property
    def parts(self) -> Dict[str, float]:
        """Numbers that the reward is made of, turns, tokens and cost: those that are known. Any medal is 1."""
        result = self.result or {}
        parts = {**(result.get("parts") or {}), "turns": result.get("turns"), "cost_usd": result.get("cost_usd")}
        parts.update({f"tokens_{way}": n for way, n in (result.get("tokens") or {}).items()})
        parts["medal"] = bool(parts.get("medal"))
        return {name: float(value) for name, value in parts.items() if isinstance(value, (bool, int, float))}

    def refresh(self, wait: float = 0) -> Rollout:
        """Ask the server for its state, after at most so many seconds if it has not ended before, and return it."""
        path = self._path + (f"?wait={max(1, int(wait))}s" if wait > 0 else "")
        self._entry = again(lambda: self._server._ask("GET", path))
        return self

    def wait(self, timeout: Optional[float] = None) -> Rollout:
        """Wait until it has ended, and return it.

        Args:
            timeout: Wait at most so many seconds.

        Raises:
            Error: It failed or was cancelled, and has no reward.
            TimeoutError: It has not ended in time.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while not self._ended():
            left = _HELD if until is None else min(_HELD, until - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"rollout {self.id} is {self.state}")
            self.refresh(left)
        return self

    async def finished(self) -> Rollout:
        """Wait until it has ended as ``wait`` does. Cancelling the task cancels the rollout."""
        try:
            while not self._ended():
                await in_thread(lambda: self.refresh(_HELD))
        except asyncio.CancelledError:
            with contextlib.suppress(Error):  # it has ended meanwhile
                await asyncio.shield(in_thread(self.cancel))
            raise
        return self

    def cancel(self) -> Rollout:
        """End it and keep nothing."""
        self._entry = self._server._ask("POST", f"{self._path}/cancel", {})
        return self

    def trajectories(self) -> List[Trajectory]:
        """Return its tokens, one trajectory for each unbroken sequence.

        Raises:
            Error: It has none, such as without ``record_tokens`` in the model block.
        """
        lines = again(lambda: self._server._send("GET", f"{self._path}/trajectory")).splitlines()
        return [Trajectory.of(json.loads(line)) for line in lines if line.strip()]

    def _ended(self) -> bool:
        if self.state in ("queued", "running", "grading"):
            return False
        if self.state != "done":
            why = str(self._entry.get("error") or "")
            raise Error(["rollout"], 1, [Diagnostic(f"rollout {self.id} is {self.state} and has no reward", why)], self._entry.get("run"))
        return True


def again(ask: Callable[[], T]) -> T:
    """Ask a server, and once more after 1, 2, 4 … seconds while it restarts or its queue is full; a minute at most."""
    for pause in (1, 2, 4, 8, 16, 32):
        try:
            return ask()
        except Error as e:
            if not isinstance(e.__cause__, OSError):
                raise
            time.sleep(pause)
    return ask()


async def in_thread(work: Callable[[], T]) -> T:
    """Call something that waits for a server, without holding up the event loop."""
    global _pool
    _pool = _pool or ThreadPoolExecutor(_AWAITED, "mleflow-rollout")
    return await asyncio.get_running_loop().run_in_executor(_pool, work)
