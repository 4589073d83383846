"""An environment of Harbor without containers: a folder as the root, in namespaces of its own.

It carries out what our Dockerfiles say (COPY, RUN, WORKDIR) on the programs of the host.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.agent.context import AgentContext

# The command runs in the folder, with the host's programs and no network but its own loopback.
ENTER = """
for part in usr bin sbin lib lib64 etc dev proc; do
  [ -L "/$part" ] && ln -sfn "$(readlink "/$part")" "$1/$part" && continue
  [ -d "/$part" ] && mkdir -p "$1/$part" && mount --rbind "/$part" "$1/$part"
done
exec chroot "$1" /bin/sh -c "$2"
"""
NAMESPACES = ["unshare", "--map-root-user", "--mount", "--net"]


class Local(BaseEnvironment):  # type: ignore[misc] # mypy does not follow harbor
    @staticmethod
    def type() -> str:
        return "local"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError(self.environment_dir / "Dockerfile")

    async def start(self, force_build: bool) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="harbor-"))
        self.workdir = "/"
        for folder in ("tmp", "logs/agent", "logs/verifier", "logs/artifacts"):
            (self.root / folder).mkdir(parents=True)
        for line in (self.environment_dir / "Dockerfile").read_text().splitlines():
            word, _, rest = line.partition(" ")
            if word == "COPY":
                source, target = rest.split()
                await self.upload_dir(self.environment_dir / source, target)
            elif word == "RUN":
                done = await self.exec(rest)
                assert done.return_code == 0, done
            elif word == "WORKDIR":
                self.workdir = rest
            else:
                assert word == "FROM", line

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.root)

    def path(self, inside: str) -> Path:
        return self.root / str(inside).lstrip("/")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self.path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self.path(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self.path(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.path(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self.path(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        process = await asyncio.create_subprocess_exec(
            *[*NAMESPACES, "sh", "-c", ENTER, "sh", str(self.root), f"cd {cwd or self.workdir} && {command}"],
            env={"PATH": os.environ["PATH"], **(env or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)


class Sample(BaseAgent):  # type: ignore[misc]
    """Submits the sample submission, and lists every file that it can see."""

    @staticmethod
    def name() -> str:
        return "sample"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        pass

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        command = "find /home /tests /solution /logs -type f -not -empty; cp /home/data/*ample*ubmission*.csv /home/submission/submission.csv"
        done = await environment.exec(command)
        assert done.return_code == 0, done
        context.metadata = {"files": done.stdout.split()}
