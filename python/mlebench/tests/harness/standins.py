"""Stand-ins for what surrounds the grading code of a harness: containers, configuration, language models."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Dict, List, Mapping
from unittest import mock


def load(path: Path, name: str = "") -> Any:
    """Import a file of a harness as it is."""
    name = name or path.stem + "_of_harness"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stand_in(*names: str, **members: Any) -> None:
    """Put modules in the place of others; what has no member is a mock."""
    for name in names:
        module = ModuleType(name)
        module.__path__ = []
        module.__getattr__ = lambda member: mock.MagicMock(name=member)  # type: ignore[method-assign]
        vars(module).update(members)
        sys.modules[name] = module


def skip_init(name: str, folder: Path) -> None:
    """Make a package whose modules are imported, but not its __init__.py, which imports the whole harness."""
    module = ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


class Container:
    """A folder in the place of a container: commands run here, with mounts replaced by what is mounted."""

    def __init__(self, mounts: Mapping[str, Path]) -> None:
        self.mounts = dict(mounts)
        self.workspace_path = Path(tempfile.mkdtemp())

    def here(self, text: str) -> str:
        for inside, outside in self.mounts.items():
            text = text.replace(inside, str(outside))
        return text

    def inject_files(self, **files: str) -> None:
        for name, text in files.items():
            path = self.workspace_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.here(text))

    def run(self, env: Any, entry: str) -> Any:
        done = self._call(["bash", "-c", entry], stderr=subprocess.STDOUT)
        return SimpleNamespace(stdout=done.stdout, exit_code=done.returncode)

    def execute(self, env: Any, entry: str) -> str:
        return str(self.run(env, entry).stdout)

    async def exec(self, command: List[str]) -> Any:
        """Run a command of a sandbox of inspect_ai, in this Python instead of conda's."""
        python = command.index("python")
        return self._call([sys.executable, *command[python + 1 :]], stderr=subprocess.PIPE)

    def _call(self, command: List[str], stderr: int) -> "subprocess.CompletedProcess[str]":
        inner = [self.here(word) for word in command]
        streams: Dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True}
        return subprocess.run(inner, cwd=self.workspace_path, timeout=600, **streams)
