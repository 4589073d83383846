"""Rollouts of rehearsals by the agent server of NeMo Gym, with a policy that says the same to everybody."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Dict, List

import pytest

pytest.importorskip("nemo_gym.base_responses_api_agent")

import httpx  # noqa: E402
import mleflow  # noqa: E402
import mleflow_nemo_gym  # noqa: E402
from nemo_gym.server_utils import ServerClient  # noqa: E402
from test_rollouts import ADDED, FIRST, SAID  # noqa: E402


def responses(url: str, policy: str, rows: List[Dict[str, Any]], agent: str = "mine") -> List[httpx.Response]:
    """Posts rows to the server, as the collection of rollouts does."""
    config = {"name": "mleflow_agent", "host": "127.0.0.1", "port": 1, "entrypoint": "app.py", "domain": "agent"}
    settings = {**config, "server": url, "agent": agent, "base_url": [policy], "model_name": "policy-0"}
    client = ServerClient.model_construct(global_config_dict={})
    app = mleflow_nemo_gym.RolloutAgent(config=settings, server_client=client).setup_webserver()

    async def post() -> List[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://agent", timeout=600) as http:
            return await asyncio.gather(*(http.post("/run", json=row) for row in rows))

    return asyncio.run(post())


def test_rehearsals(trainer: str, policy: str, rehearsals: List[str]) -> None:
    rows = [{"responses_create_params": {"input": []}, "competition": c, "_ng_task_index": i} for i, c in enumerate(rehearsals)]
    done = [json.loads(r.content) for r in responses(trainer, policy, rows)]
    assert [r["competition"] for r in done] == rehearsals
    for r in done:
        assert r["reward"] == 0 and r["turns"] == 2 and r["left_out_tokens"] == 0
        assert r["responses_create_params"]["input"][0]["content"] == "Which rows?"
        # As NeMo RL reads it: the prompt of each sampled item begins with all tokens before it.
        first, between, second = r["response"]["output"]
        assert first["prompt_token_ids"] == FIRST and first["generation_token_ids"] == SAID and between["content"] == "Sure?"
        assert second["prompt_token_ids"] == [*FIRST, *SAID, *ADDED] and second["generation_token_ids"] == SAID
        assert second["generation_log_probs"] == [0, -1 / 8, -2 / 8, -3 / 8, -4 / 8] and second["content"][0]["text"] == "all"
    # One has no sample.
    assert {r["competition"] for r in done if not r["valid"]} <= {"billion-word-imputation"}


def test_failure_is_no_reward(trainer: str, policy: str) -> None:
    row = {"responses_create_params": {"input": []}, "competition": "leaf-classification"}
    with pytest.raises(mleflow.Error, match="none-such"):
        responses(trainer, policy, [row], agent="none-such")
