"""The program, an empty cache and the run of a small pipeline, for all tests."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Iterator

import pytest

import mleflow

CHECKOUT = Path(__file__).resolve().parents[3]
DATA = Path(__file__).parent / "data"


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
