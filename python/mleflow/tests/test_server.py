"""A real server, and what a script does with it."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

import mleflow
from conftest import TOKEN, serving

PIPELINE = """
variable "word" { default = "none" }
output "said" { value = "${var.word} ${file("note.txt")}" }
"""


@pytest.fixture(scope="module")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("server")) as url:
        yield url


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
