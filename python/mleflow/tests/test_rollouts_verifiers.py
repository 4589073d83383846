"""Rollouts of rehearsals by verifiers, with a policy that says the same to everybody."""

from __future__ import annotations

import asyncio
from typing import Any, List

import pytest

pytest.importorskip("verifiers.v1")

import mleflow_rollouts  # noqa: E402
from test_rollouts import ADDED, FIRST, SAID  # noqa: E402
from verifiers.v1.clients import EvalClientConfig, ModelContext  # noqa: E402


def episodes(url: str, policy: str, **settings: Any) -> List[Any]:
    """Rolls out each task once, as a trainer does."""
    env = mleflow_rollouts.load_environment(url, **settings)
    context = ModelContext(model="policy-0", client=EvalClientConfig(base_url=policy, api_key_var="NONE"))

    async def roll_out() -> List[Any]:
        async with env.serving():
            return await asyncio.gather(*(env.run_slot(slot, context) for task in env.taskset for slot in env.slots(task)))

    return asyncio.run(roll_out())


def test_rehearsals(trainer: str, policy: str, rehearsals: List[str]) -> None:
    done = episodes(trainer, policy, agent="mine", competitions=rehearsals)
    assert {e.task.data.competition: [t.last_error for t in e.traces] for e in done} == {c: [None] for c in rehearsals}
    for episode in done:
        (trace,) = episode.traces
        (branch,) = trace.branches
        assert episode.ok and trace.agent.trainable and trace.reward == 0 and trace.num_turns == 2
        assert branch.token_ids == [*FIRST, *SAID, *ADDED, *SAID]
        assert branch.sampled_mask == [False] * len(FIRST) + [True] * 5 + [False] * len(ADDED) + [True] * 5
        assert branch.logprobs[-5:] == [0, -1 / 8, -2 / 8, -3 / 8, -4 / 8] and sum(branch.logprobs) == 2 * -10 / 8
        assert [m.content for m in branch.messages] == ["Which rows?", "all", "Sure?", "all"]
        assert trace.metrics["turns"] == 2 and trace.info["mleflow"]["attempt"].startswith(f"mine/{trace.task.data.competition}/")
    # One has no sample.
    assert {e.task.data.competition for e in done if not e.traces[0].metrics["valid"]} <= {"billion-word-imputation"}


def test_failure_is_an_error_of_the_trace(trainer: str, policy: str) -> None:
    (episode,) = episodes(trainer, policy, agent="none-such", competitions=["leaf-classification"])
    assert not episode.ok and "none-such" in episode.traces[0].last_error.message
    with pytest.raises(ValueError, match="has no agent; name one"):
        episodes(trainer, policy, agent="")
