"""The program, an empty cache and the run of a small pipeline, for all tests."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest

import mleflow

CHECKOUT = Path(__file__).resolve().parents[3]
DATA = Path(__file__).parent / "data"
TOKEN = "a-token-for-tests-0123456789abcdef0123456789"


@pytest.fixture(scope="session", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder with pipelines, a cache of its own, and no settings of the user."""
    folder = tmp_path_factory.mktemp("work")
    built = CHECKOUT / "bin" / "mleflow"
    binary = os.environ.get("MLEFLOW_BINARY") or (str(built) if built.is_file() else None)
    before, cwd = dict(os.environ), os.getcwd()
    for name in [n for n in os.environ if n.startswith("MLEFLOW_")]:
        del os.environ[name]
    if binary:
        os.environ["MLEFLOW_BINARY"] = binary
    os.environ["MLEFLOW_PYTHON"] = sys.executable
    os.environ["MLEFLOW_CACHE_DIR"] = str(folder / "cache")
    os.environ["MLEFLOW_STATE_DIR"] = str(folder / "state")
    for file in DATA.iterdir():
        shutil.copy(file, folder)
    os.chdir(folder)
    yield folder
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def demo(folder: Path) -> mleflow.Run:
    """The demonstration, with one seed."""
    return mleflow.apply("demo.hcl", {"seeds": 1, "runtime": "process"})


class _Model(http.server.BaseHTTPRequestHandler):
    """Answers as a server of OpenAI's protocol."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "<b>seven</b>"}
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        answer = {"id": "1", "object": "chat.completion", "model": "gpt-4o-2024-08-06", "choices": choices}
        body = json.dumps({**answer, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def asked(folder: Path) -> Iterator[mleflow.Run]:
    """A run whose agent asks a model once and submits the sample."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["OPENAI_API_KEY"] = "a-key-for-tests"
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield mleflow.apply("asking.hcl", {"base_url": url, "python": sys.executable})
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def serving(at: Path, more: str = "") -> Iterator[str]:
    """Runs a server in a folder, with more lines in its file, and yields its address."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    config = at / "serve.hcl"
    config.write_text(f'listen = "127.0.0.1:{port}"\nuser "ada" {{\n  role = "operator"\n  token_sha256 = "{digest}"\n}}\n{more}')
    command = [mleflow.binary(), "serve", "--config", str(config), "--cache-dir", str(at / "cache")]
    with open(at / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for _ in range(300):
            try:
                mleflow.connect(f"http://127.0.0.1:{port}", TOKEN)
                break
            except mleflow.Error:
                assert process.poll() is None, (at / "log").read_text()
                time.sleep(0.2)  # polls the server, a minute at most
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def policy() -> Iterator[str]:
    """Address of a policy's server, which answers as vLLM does with token ids. A byte is a token."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Policy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def trainer(folder: Path, policy: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server with rollouts, whose agent asks the policy twice and submits the sample.

    The token is in MLEFLOW_TOKEN. The model block's own address refuses connections: rollouts name the policy's.
    """
    at = tmp_path_factory.mktemp("rollouts")
    for name in ("rollouts.hcl", "rollout.py"):
        shutil.copy(DATA / name, at)
    text = (at / "rollouts.hcl").read_text()
    (at / "rollouts.hcl").write_text(text.replace("PYTHON", sys.executable).replace("PROGRAM", mleflow.binary()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLEFLOW_TOKEN", TOKEN)
        with serving(at, f'rollouts {{\n  pipeline = "rollouts.hcl"\n  parallel = 4\n  runtime = "process"\n  base_urls = ["{policy}"]\n}}\n') as url:
            yield url


@pytest.fixture(scope="session")
def rehearsals() -> List[str]:
    """The competitions that environments roll out: a few, or all 82 with REHEARSALS=all."""
    known = sorted({*mleflow.competitions("all"), *mleflow.competitions("dev")})
    assert len(known) == 82
    return known if os.environ.get("REHEARSALS") == "all" else known[::11]


class Policy(_Model):
    """Answers as vLLM does with token ids: always "all" in five tokens, a mark, three letters, and the end."""

    protocol_version = "HTTP/1.1"

    def answer(self, ask: Dict[str, Any]) -> Tuple[List[int], List[int], List[float], str]:
        """Returns prompt, sampled tokens, their log-probabilities, and the text."""
        marks = {"user": [10], "assistant": [9, 3]}
        prompt = [i for m in ask["messages"] for i in [*marks[m["role"]], *(100 + b for b in m["content"].encode()), 2]] + [9]
        ids = [3, *(100 + b for b in b"all"), 2]
        return prompt, ids, [-i / 8 for i in range(len(ids))], "all"

    def do_POST(self) -> None:
        ask = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, ids, logprobs, text = self.answer(ask)
        tokens: List[object] = [{"token": "", "logprob": p, "bytes": None, "top_logprobs": []} for p in logprobs]
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message, "token_ids": ids, "logprobs": {"content": tokens}}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(ids), "total_tokens": len(prompt + ids)}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": ask["model"], "choices": [choice], "usage": usage}
        body = json.dumps({**answer, "prompt_token_ids": prompt}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
