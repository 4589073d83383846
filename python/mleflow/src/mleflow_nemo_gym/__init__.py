"""Rollouts of a server, mleflow serve, as an agent server of NeMo Gym.

The agent runs in the server's sandbox. It calls the policy at the address that NeMo Gym has for it, through the
server's gateway, which records the tokens. `python -m mleflow_nemo_gym` writes what NeMo Gym starts it from.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, ClassVar, Dict, Iterator, List, Optional, Union

from fastapi import Body
from nemo_gym.base_resources_server import BaseRunRequest, BaseVerifyResponse
from nemo_gym.base_responses_api_agent import BaseResponsesAPIAgentConfig, SimpleResponsesAPIAgent
from nemo_gym.openai_utils import NeMoGymResponse, NeMoGymResponseCreateParamsNonStreaming
from pydantic import ConfigDict, PrivateAttr

import mleflow
from mleflow._rollout import in_thread

__all__ = ["RolloutAgent"]


class RolloutAgentConfig(BaseResponsesAPIAgentConfig):  # type: ignore[misc] # mypy does not follow nemo_gym
    """What a rollout asks the server for. The token of the server is that of `MLEFLOW_TOKEN`."""

    server: str
    agent: str
    base_url: Union[str, List[str]]
    """Address of the policy's server, which reports token ids; of several each rollout takes one."""
    model_name: str
    block: Optional[str] = None
    """The model block of the server's pipeline that stands for the policy; the agent's first if this is None."""
    data: Union[str, Dict[str, int]] = "rehearsal"
    limits: Dict[str, Any] = {}
    reward: Optional[str] = None
    on: str = "test"


class RolloutRequest(BaseRunRequest):  # type: ignore[misc]
    model_config = ConfigDict(extra="allow")

    competition: str
    seed: Optional[int] = None


class RolloutResponse(BaseVerifyResponse):  # type: ignore[misc]
    """The response with the most sampled tokens; each part of the reward is a field of its own."""

    model_config = ConfigDict(extra="allow")

    competition: str
    rollout: Dict[str, Any]
    left_out_tokens: int
    """Tokens that the model sampled in other trajectories of the rollout: a response holds one sequence."""


class RolloutAgent(SimpleResponsesAPIAgent):  # type: ignore[misc]
    ray_enabled: ClassVar[Optional[bool]] = False
    config: RolloutAgentConfig
    _started: Iterator[int] = PrivateAttr(default_factory=itertools.count)

    async def responses(self, body: NeMoGymResponseCreateParamsNonStreaming = Body()) -> NeMoGymResponse:
        raise NotImplementedError("a rollout is a whole attempt with its reward: post to /run")

    async def run(self, body: RolloutRequest = Body()) -> RolloutResponse:
        asked, number = self.config, next(self._started)
        addresses = [asked.base_url] if isinstance(asked.base_url, str) else asked.base_url
        model = {"name": asked.model_name, "base_url": addresses[number % len(addresses)], **({"block": asked.block} if asked.block else {})}
        start = functools.partial(
            mleflow.Server(asked.server).roll_out, asked.agent, body.competition,
            data=asked.data, seed=body.seed, model=model, limits=asked.limits, reward=asked.reward, on=asked.on,
        )  # fmt: skip
        rollout = await (await in_thread(start)).finished()
        found = await in_thread(rollout.trajectories)
        most = max(found, key=lambda trajectory: trajectory.sampled)
        turns = most.turns()
        prompt = [item for said in turns[0].prompt for item in _items(said)]
        response = NeMoGymResponse(
            id=rollout.id, created_at=0, object="response", model=asked.model_name, output=_output(turns),
            parallel_tool_calls=True, tool_choice="auto", tools=[],
        )  # fmt: skip
        return RolloutResponse(
            **rollout.parts,
            responses_create_params={**body.responses_create_params.model_dump(exclude_unset=True), "input": prompt},
            response=response, reward=rollout.reward, competition=body.competition, rollout=rollout.result or {},
            left_out_tokens=sum(trajectory.sampled for trajectory in found) - most.sampled,
        )  # fmt: skip


def _output(turns: List[mleflow.Turn]) -> List[Dict[str, Any]]:
    """What the model and the agent said after the first prompt. The last item of each reply has its tokens."""
    output: List[Dict[str, Any]] = []
    before = len(turns[0].prompt)
    for turn in turns:
        output += [item for said in turn.prompt[before:] for item in _items(said)]
        items = _items(turn.reply)
        tokens = {"generation_token_ids": turn.completion_ids, "generation_log_probs": turn.completion_logprobs}
        items[-1].update(tokens, prompt_token_ids=turn.prompt_ids)
        output, before = output + items, len(turn.prompt) + 1
    return output


def _items(said: mleflow.Record) -> List[Dict[str, Any]]:
    """A message of a transcript as items of the Responses API."""
    text, role = said.get("text", ""), said.get("role")
    results = said.get("results") or []
    items = [{"type": "function_call_output", "call_id": r.get("id", ""), "output": r["text"]} for r in results]
    calls = [
        {"type": "function_call", "call_id": c.get("id", ""), "name": c["name"], "arguments": c.get("arguments", "")}
        for c in said.get("calls") or []
    ]
    if role == "assistant" and (text or not calls):
        part = {"type": "output_text", "text": text, "annotations": []}
        items.append({"type": "message", "id": "msg", "role": role, "status": "completed", "content": [part]})
    elif text:
        items.append({"type": "message", "role": "user" if role == "tool" else role, "content": text})
    return items + calls
