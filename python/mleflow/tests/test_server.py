"""A real server, and what a script does with it."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import time
from pathlib import Path
from typing import Iterator

import pytest

import mleflow

TOKEN = "a-token-for-tests-0123456789abcdef0123456789"

PIPELINE = """
variable "word" { default = "none" }
output "said" { value = "${var.word} ${file("note.txt")}" }
"""


@pytest.fixture(scope="module")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    at = tmp_path_factory.mktemp("server")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    config = at / "serve.hcl"
    config.write_text(f'listen = "127.0.0.1:{port}"\nuser "ada" {{\n  role = "operator"\n  token_sha256 = "{digest}"\n}}\n')
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


def test_submit(url: str, tmp_path: Path) -> None:
    (tmp_path / "p.hcl").write_text(PIPELINE)
    (tmp_path / "note.txt").write_text("noted")
    server = mleflow.connect(url, TOKEN)
    assert server.user == "ada"
    done = server.submit(tmp_path / "p.hcl", {"word": "null"}).wait(timeout=120)
    assert "null noted" in done.output()
    assert done.run is not None
    assert server.run(done.run)["id"] == done.run
    assert [r["id"] for r in server.runs()] == [done.run]
    assert server.attempts(done.run) == []
    assert [e["type"] for e in server.events(done.run)][-1] == "run_finished"
    assert [s.id for s in server.submissions()] == [done.id]


def test_refused(url: str, tmp_path: Path) -> None:
    (tmp_path / "p.hcl").write_text('output "x" { value = file("/etc/hostname") }')
    server = mleflow.connect(url, TOKEN)
    with pytest.raises(mleflow.Error, match="is not a file of the pipeline's folder|outside the pipeline's folder"):
        server.submit(tmp_path / "p.hcl")
    (tmp_path / "p.hcl").write_text('step "exec" "x" { command = ["true"] }')
    with pytest.raises(mleflow.Error, match="no steps of kind exec"):
        server.submit(tmp_path / "p.hcl").wait(timeout=120)
    with pytest.raises(mleflow.Error, match="401"):
        mleflow.connect(url, "another-token-0123456789abcdef0123456789abc")
    with pytest.raises(ValueError):
        server.attempts("../../submissions")
