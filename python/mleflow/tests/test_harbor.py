"""Tasks of `mleflow export harbor`, run by Harbor itself in folders instead of containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("harbor")

local = pytest.importorskip("harbor_local")
if shutil.which("unshare") is None or subprocess.run([*local.NAMESPACES, "true"], capture_output=True).returncode:
    pytest.skip("Linux with namespaces of an unprivileged user is needed", allow_module_level=True)

# Classification by text, classification of images, and an error in which less is better.
LITE = ["spooky-author-identification", "aerial-cactus-identification", "new-york-city-taxi-fare-prediction"]


def mleflow(*arguments: object) -> None:
    done = subprocess.run([os.environ["MLEFLOW_BINARY"], *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harbor")
    data, tasks = folder / "data", folder / "tasks"
    mleflow("prepare", "-c", "demo-digits", "--data-dir", data)
    mleflow("export", "harbor", "demo-digits", "--data-dir", data, "-o", tasks)
    mleflow("export", "harbor", *LITE, "--rehearsal", "--data-dir", data, "-o", tasks)
    return tasks


def harbor(folder: Path, *arguments: object) -> str:
    """Runs the command with no settings of the user and no word home."""
    env = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(Path(__file__).parent)}
    env.update(HARBOR_TELEMETRY="0", LITELLM_LOCAL_MODEL_COST_MAP="True")
    command = [sys.executable, "-m", "harbor.cli.main", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def trials(tasks: Path) -> dict[str, dict[str, Any]]:
    """The trials of all tasks in the registry, by agent and task."""
    job = {
        "agents": [{"name": "oracle"}, {"name": "nop"}, {"import_path": "harbor_local:Sample"}],
        "environment": {"import_path": "harbor_local:Local"},
        "datasets": [{"name": "mleflow", "version": "1.0", "registry_path": "registry.json"}],
        "n_concurrent_trials": 2,
    }
    (tasks.parent / "job.json").write_text(json.dumps(job))
    harbor(tasks, "run", "-c", "../job.json", "-o", "../jobs", "-q", "-y")
    found: dict[str, dict[str, Any]] = {}
    for path in (tasks.parent / "jobs").glob("*/*/result.json"):
        result = json.loads(path.read_text())
        assert result["exception_info"] is None, (path, result["exception_info"])
        found.setdefault(result["agent_info"]["name"], {})[result["task_name"].removeprefix("mleflow/")] = result
    return found


NAMES = ["demo-digits", *(f"rehearsal-{name}" for name in LITE)]


@pytest.mark.parametrize("name", NAMES)
def test_rewards(trials: dict[str, dict[str, Any]], name: str) -> None:
    rewards = {agent: results[name]["verifier_result"]["rewards"] for agent, results in trials.items()}
    assert rewards["oracle"]["reward"] == 1 and "score" in rewards["oracle"]
    assert rewards["sample"]["reward"] == 0 and rewards["sample"]["score"] != rewards["oracle"]["score"]
    assert rewards["nop"] == {"reward": 0}


@pytest.mark.parametrize("name", NAMES)
def test_agent_sees_public_data_only(tasks: Path, trials: dict[str, dict[str, Any]], name: str) -> None:
    data = tasks / name / "environment" / "data"
    public = {f"/home/data/{path.relative_to(data)}" for path in data.rglob("*") if path.is_file()}
    assert set(trials["sample"][name]["agent_result"]["metadata"]["files"]) == public


def test_lint(tasks: Path) -> None:
    folders = [path.parent for path in tasks.glob("*/task.toml")]
    assert len(folders) == len(NAMES)
    assert json.loads(harbor(tasks, "lint", "--json", *folders)) == []


def test_dataset(tasks: Path) -> None:
    """Harbor writes the manifest of what is exported, and finds its digests again."""
    from harbor.models.dataset.manifest import DatasetManifest

    harbor(tasks, "init", "mleflow/tasks", "--dataset", "-o", ".")
    manifest = DatasetManifest.from_toml_file(tasks / "dataset.toml")
    assert {task.name for task in manifest.tasks} == {f"mleflow/{name}" for name in NAMES}
    mleflow("export", "harbor", "demo-digits", "--data-dir", tasks.parent / "data", "-o", tasks)
    harbor(tasks, "sync")
    assert DatasetManifest.from_toml_file(tasks / "dataset.toml") == manifest  # a second export has the same bytes
