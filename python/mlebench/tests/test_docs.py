"""The commands of docs/drop-in.md do as it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "drop-in.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="not in a checkout")
def test_commands(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    (block,) = [b for b in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if b.startswith("mlebench ")]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(["sh", "-ec", block], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    both = done.stdout + done.stderr
    assert json.loads(both[both.index("{") : both.rindex("}") + 1])["score"] == 0.075
    usage = subprocess.run(["mlebench", "prepare", "--help"], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    row = next(line for line in text.splitlines() if line.startswith("| `mlebench prepare`"))
    for flag in re.findall(r"`(--?[a-z-]+)", row):
        assert re.search(rf"{flag}\b", usage.stdout), flag
