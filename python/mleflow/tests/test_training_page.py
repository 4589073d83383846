"""Follows docs/training.md: its files, its first rollout, and a GRPO step of a tiny model where TRL is installed."""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import os
import re
import threading
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest

import mleflow
from conftest import TOKEN, Policy, serving

PAGE = Path(__file__).resolve().parents[3] / "docs" / "training.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="not in a checkout")


def files(**replaced: str) -> Dict[str, str]:
    """The blocks of the page that begin with the name of a file, with some texts replaced."""
    found = dict(re.findall(r"^```\w+\n# (\S+\.\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    for text in replaced:
        found = {name: block.replace(text, replaced[text]) for name, block in found.items()}
    return found


@contextlib.contextmanager
def followed(at: Path, policy: str) -> Iterator[Dict[str, str]]:
    """Starts the page's server in a folder, and yields its other blocks."""
    blocks = files(**{"http://127.0.0.1:8000/v1": policy})
    for name in ("train.hcl", "learner.py"):
        (at / name).write_text(blocks[name])
    (rollouts,) = re.findall(r"^rollouts \{\n.*?^\}\n", blocks["serve.hcl"], re.MULTILINE | re.DOTALL)
    with pytest.MonkeyPatch.context() as patch, serving(at, rollouts.replace("{\n", '{\n  runtime = "process"\n', 1)) as url:
        patch.setenv("MLEFLOW_TOKEN", TOKEN)
        yield {name: block.replace("http://127.0.0.1:7431", url) for name, block in blocks.items()}


def test_first_rollout(folder: Path, policy: str, tmp_path: Path) -> None:
    with followed(tmp_path, policy) as blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(blocks["first.py"], str(PAGE), "exec"), {})
    # The policy says "all": two rows.
    assert re.match(r"0\.\d+ \{'valid': 1\.0, .*\n\[10, .* 9\] \[3, 197, 208, 208, 2\] \[1, 1, 1, 1, 1\] \[0, -0\.125, ", out.getvalue())


def test_grpo_step(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trl = pytest.importorskip("trl")
    import datasets
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = transformers.ByT5Tokenizer()
    size: Dict[str, Any] = {"n_positions": 256, "n_embd": 32, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(vocab_size=len(tokenizer), bos_token_id=1, eos_token_id=1, pad_token_id=0, **size)
    model = transformers.GPT2LMHeadModel(config)
    lock = threading.Lock()

    class Tiny(Policy):
        """Samples from the model that is trained."""

        def answer(self, ask: Dict[str, Any]) -> Any:
            prompt = tokenizer("".join(m["content"] for m in ask["messages"]))["input_ids"]
            ids: list[int] = []
            logprobs: list[float] = []
            with lock, torch.no_grad():
                for _ in range(ask["max_tokens"]):
                    log = model(torch.tensor([prompt + ids])).logits[0, -1].log_softmax(-1)
                    ids.append(int(torch.multinomial(log.exp(), 1)))
                    logprobs.append(float(log[ids[-1]]))
            return prompt, ids, logprobs, tokenizer.decode(ids, skip_special_tokens=True)

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tiny)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    with followed(tmp_path, f"http://127.0.0.1:{served.server_address[1]}/v1") as blocks:
        names: Dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(blocks["first.py"] + blocks["grpo.py"], str(PAGE), "exec"), names)
        seen = []

        def earned(completions: Any, **given: Any) -> Any:
            seen.extend(given["earned"])
            return names["earned"](completions, **given)

        settings = trl.GRPOConfig(
            output_dir=os.fspath(tmp_path / "out"), max_steps=1, per_device_train_batch_size=8, num_generations=8, learning_rate=0.01,
            use_cpu=True, bf16=False, report_to=[], save_strategy="no", logging_steps=1, max_completion_length=16,
        )  # fmt: skip
        competitions = datasets.Dataset.from_dict({"prompt": ["demo-digits"] * 8})
        trainer = trl.GRPOTrainer(model, earned, settings, competitions, processing_class=tokenizer, rollout_func=names["roll_out"])
        before = [p.detach().clone() for p in model.parameters()]
        trainer.train()
    served.shutdown()
    served.server_close()
    assert len(seen) == 8 and len(set(seen)) > 1
    assert any(not torch.equal(a, b) for a, b in zip(before, model.parameters()))
    (log,) = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
    assert float(log["grad_norm"]) > 0 and float(log["reward"]) == pytest.approx(sum(seen) / 8, abs=1e-3)
