"""Tasks of `mleflow export harbor`, loaded by verifiers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("verifiers.v1")
pytest.importorskip("harbor")

import mleflow_verifiers  # noqa: E402


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verifiers")
    for arguments in (
        ["prepare", "-c", "demo-digits", "--data-dir", "data"],
        ["export", "harbor", "demo-digits", "--data-dir", "data", "--images", "registry.example/mle", "-o", "tasks"],
        ["export", "harbor", "leaf-classification", "--rehearsal", "--data-dir", "data", "-o", "without-images"],
    ):
        subprocess.run([os.environ["MLEFLOW_BINARY"], *arguments], cwd=folder, check=True, capture_output=True)
    return folder / "tasks"


def test_tasks(tasks: Path) -> None:
    env = mleflow_verifiers.load_environment(tasks, ignore_timeouts=False)
    assert isinstance(env, mleflow_verifiers.HarborEnv)
    (task,) = env.taskset.load()
    data = task.data
    assert data.name == "mleflow/demo-digits" and data.task_dir == str(tasks / "demo-digits")
    assert data.prompt == (tasks / "demo-digits" / "instruction.md").read_text().strip()
    assert data.image == "registry.example/mle/demo-digits-agent" and data.timeout.agent == 86400
    # The answers are in another box, which has what the agent left and no network.
    assert data.verifier_image == "registry.example/mle/demo-digits-verifier"
    assert data.verifier is not None and data.verifier.network_allow == []
    assert [artifact.source for artifact in data.artifacts] == ["/home/submission/submission.csv"]


def test_folder_without_the_tasks(tasks: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no tasks; write them with mleflow export harbor"):
        list(mleflow_verifiers.load_environment(tmp_path).taskset.load())
    with pytest.raises(ValueError, match="has no task demo-cancer;"):
        list(mleflow_verifiers.load_environment(tasks, only=["demo-cancer", "demo-digits"]).taskset.load())


def test_tasks_without_images(tasks: Path) -> None:
    with pytest.raises(ValueError, match="Dockerfile"):
        list(mleflow_verifiers.load_environment(tasks.parent / "without-images").taskset.load())
