"""Rollouts of a real server, as a trainer asks for them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Dict

import pytest

import mleflow

# What the policy of conftest.py saw and said: marks of roles are 9 and 10, a letter is 100 and its byte.
FIRST = [10, *(100 + b for b in b"Which rows?"), 2, 9]
SAID = [3, 197, 208, 208, 2]
ADDED = [10, *(100 + b for b in b"Sure?"), 2, 9]


def ask(url: str, policy: str, agent: str = "mine", **more: Any) -> mleflow.Rollout:
    settings: Dict[str, Any] = {"data": "rehearsal", "model": {"name": "policy-0", "base_url": policy}, **more}
    return mleflow.connect(url).roll_out(agent, "leaf-classification", **settings)


def test_rollout(trainer: str, policy: str) -> None:
    rollout = ask(trainer, policy, seed=3, limits={"time": "5m", "turns": 4}, key="step-1/0")
    assert rollout.key == "step-1/0" and rollout.wait(timeout=300).state == "done"
    assert rollout.reward == 0  # the sample is not better than itself
    assert rollout.parts["valid"] == 1 and rollout.parts["above_sample"] == 0 and rollout.parts["turns"] == 2
    assert rollout.parts["tokens_output"] == 2 * len(SAID)
    (trajectory,) = rollout.trajectories()
    assert trajectory.prompt_ids == FIRST and trajectory.completion_ids == [*SAID, *ADDED, *SAID]
    assert trajectory.completion_mask == [1] * 5 + [0] * len(ADDED) + [1] * 5 and trajectory.sampled == 10
    assert trajectory.attempt["seed"] == "3" and trajectory.broken is None
    first, second = trajectory.turns()
    assert first.prompt_ids == FIRST and second.prompt_ids == [*FIRST, *SAID, *ADDED]
    assert first.completion_ids == second.completion_ids == SAID
    assert second.completion_logprobs == [0, -1 / 8, -2 / 8, -3 / 8, -4 / 8]
    assert [m["text"] for m in second.prompt] == ["Which rows?", "all", "Sure?"] and second.reply["text"] == "all"
    # The same key is the same rollout, and its id finds it.
    again = ask(trainer, policy, seed=3, limits={"time": "5m", "turns": 4}, key="step-1/0")
    assert again.id == rollout.id and mleflow.connect(trainer).rollout(rollout.id).reward == 0
    with pytest.raises(mleflow.Error, match=r"\(409\)"):
        ask(trainer, policy, seed=4, key="step-1/0")


def test_cancel(trainer: str, policy: str) -> None:
    rollout = ask(trainer, policy, "idle")
    with pytest.raises(ValueError, match="has no reward; wait for it first"):
        print(rollout.reward)
    with pytest.raises(TimeoutError):
        rollout.wait(timeout=1)

    async def cancel() -> None:
        task = asyncio.ensure_future(rollout.finished())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    with pytest.raises(mleflow.Error, match="is cancelled and has no reward"):
        mleflow.connect(trainer).rollout(rollout.id).wait(timeout=300)


def test_refused(trainer: str, policy: str, tmp_path: Path) -> None:
    with pytest.raises(mleflow.Error, match="none-such"):
        ask(trainer, policy, "none-such")
    with pytest.raises(mleflow.Error, match=r"\(400\)"):
        ask(trainer, "http://127.0.0.1:10/v1")  # an address that the server's file does not list
    with pytest.raises(ValueError):
        mleflow.connect(trainer).rollout("../runs")


def test_turns_of_a_changed_history() -> None:
    """What the agent put into the history is not taken for what the model said."""
    line = {
        "prompt_ids": [1, 2], "completion_ids": [3, 4, 5], "completion_mask": [1, 0, 1], "completion_logprobs": [-1, None, -2],
        "messages": [{"role": "assistant", "text": "example"}, {"role": "user", "text": "do"}, {"role": "assistant", "text": "a"}],
        "calls": [{"start": 2, "sampled": 1}, {"start": 4, "sampled": 1}], "break": {"reason": "prompt"},
    }  # fmt: skip
    trajectory = mleflow.Trajectory.of({**line, "messages": [*line["messages"], {"role": "assistant", "text": "b"}]})  # type: ignore[misc]
    assert [(t.completion_ids, t.completion_logprobs, t.reply["text"]) for t in trajectory.turns()] == [([3], [-1], "a"), ([5], [-2], "b")]
    assert [len(t.prompt) for t in trajectory.turns()] == [2, 3] and trajectory.broken == {"reason": "prompt"}
    further = {**line, "calls": [{"start": 2, "sampled": 1}], "messages": line["messages"][:0]}  # type: ignore[index]
    assert mleflow.Trajectory.of(json.loads(json.dumps(further))).turns()[0].reply == {"role": "assistant"}
