"""Rollouts of a server, mleflow serve, as an environment of verifiers by the id `mleflow-rollouts`.

The agent runs in the server's sandbox. It calls the trainer's model at the address of the client with which verifiers
rolls out, through the server's gateway, which records the tokens.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Dict, Iterator, List, Optional, Union

from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.configs.env import EnvConfig
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.configs.taskset import TasksetConfig
from verifiers.v1.env import Env
from verifiers.v1.envs.single_agent import SingleAgentEnv, SingleAgentEnvConfig
from verifiers.v1.graph import prepare_turn
from verifiers.v1.harness import Harness
from verifiers.v1.runtimes import ProgramResult, Runtime, SubprocessConfig
from verifiers.v1.task import Task, TaskData
from verifiers.v1.taskset import Taskset
from verifiers.v1.trace import ModelCall, Trace
from verifiers.v1.types import AssistantMessage, Message, Response, SystemMessage, Tool, ToolCall, ToolMessage, TurnTokens, Usage, UserMessage
from verifiers.v1.utils.decorators import metric, reward
from verifiers.v1.utils.loaders import load_environment as load
from verifiers.v1.utils.loaders import resolve_env_config

import mleflow
from mleflow._rollout import in_thread

__all__ = ["RolloutEnv", "RolloutHarness", "RolloutTaskset", "load_environment"]

# The member of a trace's info with the server's result.
_RESULT = "mleflow"


class RolloutData(TaskData):  # type: ignore[misc] # mypy does not follow verifiers
    """What a rollout asks the server for. The token of the server is that of `MLEFLOW_TOKEN`."""

    server: str
    agent: str
    competition: str
    data: Union[str, Dict[str, int]] = "rehearsal"
    block: Optional[str] = None
    limits: Dict[str, Any] = {}
    reward: Optional[str] = None
    on: str = "test"


class RolloutTask(Task[RolloutData]):  # type: ignore[misc]
    @property
    def key(self) -> str:
        return f"{self.data.competition} {self.data.data}"

    @reward  # type: ignore[untyped-decorator]
    async def reward(self, trace: Trace) -> float:
        return float(trace.info[_RESULT]["reward"])

    @metric  # type: ignore[untyped-decorator]
    async def parts(self, trace: Trace) -> Dict[str, float]:
        return dict(trace.info[_RESULT]["numbers"])


class RolloutConfig(TasksetConfig):  # type: ignore[misc]
    server: str = "http://127.0.0.1:7431"
    agent: str = ""
    split: str = "all"
    """A set of competitions, as of `mleflow competition list --split`."""
    competitions: Optional[List[str]] = None
    """Ids of competitions, instead of a set."""
    data: Union[str, Dict[str, int]] = "rehearsal"
    block: Optional[str] = None
    """The model block of the server's pipeline that stands for the policy; the agent's first if this is None."""
    limits: Dict[str, Any] = {}
    reward: Optional[str] = None
    on: str = "test"


class RolloutTaskset(Taskset[RolloutTask, RolloutConfig]):  # type: ignore[misc]
    def load(self) -> Iterator[RolloutTask]:
        given = self.config.model_dump(include=set(RolloutData.model_fields) - {"id"})
        if not given["agent"]:
            raise ValueError("the taskset mleflow-rollouts has no agent; name one of the server's pipeline, such as --env.taskset.agent mine")
        for competition in self.config.competitions or mleflow.competitions(self.config.split):
            prompt = f"Take part in the competition {competition}."  # for people: the agent has its own
            yield RolloutTask(RolloutData(**given, competition=competition, name=competition, prompt=prompt), self.config.task)


class RolloutHarness(Harness[HarnessConfig]):  # type: ignore[misc]
    """Asks the server for a rollout instead of running a program."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: ModelContext, trace: Trace, runtime: Runtime, endpoint: str, secret: str, mcp_urls: Dict[str, str], data: TaskData
    ) -> ProgramResult:
        asked: RolloutData = trace.task.data
        model = {"name": ctx.model, "base_url": ctx.client.base_url, **({"block": asked.block} if asked.block else {})}
        start = functools.partial(
            mleflow.Server(asked.server).roll_out, asked.agent, asked.competition,
            data=asked.data, model=model, limits=asked.limits, reward=asked.reward, on=asked.on, key=trace.id,
        )  # fmt: skip
        rollout = await (await in_thread(start)).finished()
        for trajectory in await in_thread(rollout.trajectories):
            _commit(trace, trajectory, ctx.model)
        trace.info[_RESULT] = {**(rollout.result or {}), "numbers": rollout.parts}
        return ProgramResult(0, "", "")


class RolloutEnvConfig(SingleAgentEnvConfig):  # type: ignore[misc]
    agent: AgentConfig = AgentConfig(runtime=SubprocessConfig())
    """The seat. Nothing runs in its runtime: the agent runs in the server's sandbox."""


class RolloutEnv(SingleAgentEnv, Env[RolloutEnvConfig]):  # type: ignore[misc]
    """One rollout of the server for each episode."""


def load_environment(server: str, agent: str, **settings: Any) -> Env:
    """Returns the environment of a server's rollouts with an agent of its pipeline.

    Settings are those of RolloutConfig: split, competitions, data, block, limits, reward and on.
    """
    return load(resolve_env_config({"taskset": {"id": "mleflow-rollouts", "server": server, "agent": agent, **settings}}))


def _commit(trace: Trace, trajectory: mleflow.Trajectory, model: str) -> None:
    """Add a trajectory to the graph of a trace, turn by turn."""
    tools = [Tool(name=t["name"], description=t.get("description", ""), parameters=_object(t.get("parameters"))) for t in trajectory.tools]
    for number, turn in enumerate(trajectory.turns()):
        usage = Usage(prompt_tokens=len(turn.prompt_ids), completion_tokens=len(turn.completion_ids))
        (reply,) = _messages(turn.reply)
        tokens = TurnTokens(prompt_ids=turn.prompt_ids, completion_ids=turn.completion_ids, completion_logprobs=turn.completion_logprobs)
        response = Response(
            id=f"{trace.id}-{len(trace.calls)}", created=0, model=model, message=reply, finish_reason=None, usage=usage, tokens=tokens
        )
        prompt = [message for m in turn.prompt for message in _messages(m)]
        node = prepare_turn(trace, prompt, tools).commit(response)
        trace.calls.append(ModelCall(node=node, model=model, usage=usage))


def _messages(said: mleflow.Record) -> List[Message]:
    """A message of a transcript as verifiers' messages: each result of a tool is one."""
    role, text = said.get("role"), said.get("text", "")
    if role == "assistant":
        calls = [ToolCall(id=c.get("id", ""), name=c["name"], arguments=c.get("arguments", "")) for c in said.get("calls") or []]
        return [AssistantMessage(content=text, reasoning_content=said.get("reasoning"), tool_calls=calls or None)]
    results = [ToolMessage(tool_call_id=r.get("id", ""), content=r["text"], name=r.get("name")) for r in said.get("results") or []]
    if results and not text:
        return results
    return [*results, SystemMessage(content=text) if role in ("system", "developer") else UserMessage(content=text)]


def _object(schema: Optional[str]) -> Dict[str, Any]:
    """JSON of a schema as a dictionary; empty if it is none."""
    try:
        found = json.loads(schema or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
