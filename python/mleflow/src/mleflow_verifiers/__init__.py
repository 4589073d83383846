"""Tasks of `mleflow export harbor` as a taskset of verifiers, by the id `mleflow-verifiers`.

The Harbor taskset of verifiers loads downloaded tasks; this one loads a local folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

from verifiers.v1.env import Env
from verifiers.v1.taskset import Taskset
from verifiers.v1.tasksets.harbor import HarborEnv
from verifiers.v1.tasksets.harbor.taskset import HarborConfig, HarborTask, HarborTaskset, parse_task
from verifiers.v1.utils.loaders import load_environment as load
from verifiers.v1.utils.loaders import resolve_env_config

__all__ = ["FolderTaskset", "HarborEnv", "load_environment"]


class FolderConfig(HarborConfig):  # type: ignore[misc] # mypy does not follow verifiers
    folder: Path = Path("tasks")
    """The folder that `mleflow export harbor -o` wrote."""


class FolderTaskset(HarborTaskset, Taskset[HarborTask, FolderConfig]):  # type: ignore[misc]
    def load(self) -> Iterator[HarborTask]:
        folder = Path(self.config.folder).expanduser().resolve()
        found = sorted(path.parent for path in folder.glob("*/task.toml"))
        chosen = found if self.config.tasks is None else [path for path in found if path.name in self.config.tasks]
        missing = sorted(set(self.config.tasks or ()) - {path.name for path in chosen})
        if missing or not chosen:
            what = f"no task {', '.join(missing)}" if missing else "no tasks"
            raise ValueError(f"{folder} has {what}; write them with mleflow export harbor -o {folder}")
        for index, path in enumerate(chosen):
            yield HarborTask(parse_task(path, index, self.config), self.config.task)


def load_environment(tasks: str | Path, only: list[str] | None = None, **settings: Any) -> Env:
    """Returns the environment of all tasks in a folder, or only of those named.

    Settings are those of verifiers' Harbor taskset.
    """
    taskset = {"id": "mleflow-verifiers", "folder": Path(tasks), "tasks": only, **settings}
    return load(resolve_env_config({"taskset": taskset}))
