"""The grading code of public harnesses, unedited, on the golden cases.

MLEFLOW_TEST_HARNESSES names the folder that `python -m harness.harnesses
fetch DIR` filled. Each harness grades every eighth submission of the chosen competitions, each
from another start, so that together they grade all; those that start a Python
for each grade fewer.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest

from . import golden
from .harnesses import HARNESSES, Harness

STEP = 8
FAST = [one for one in HARNESSES if not one.slow]
FOLDER = os.environ.get("MLEFLOW_TEST_HARNESSES")


def test_all_are_graded() -> None:
    assert len(FAST) >= STEP


@pytest.mark.skipif(not FOLDER, reason="MLEFLOW_TEST_HARNESSES does not name a folder of harnesses")
@pytest.mark.parametrize("harness", HARNESSES, ids=lambda one: one.name)
def test_harness(cases: Dict[str, List[golden.Case]], place: Path, tmp_path: Path, harness: Harness) -> None:
    folder = Path(str(FOLDER)).resolve()
    if not (folder / harness.name / harness.file).is_file():
        pytest.skip(f"{harness.name} is not in {folder}")
    lacking = [name for name in harness.needs if importlib.util.find_spec(name) is None]
    if lacking:
        pytest.skip(f"{harness.name} imports {', '.join(lacking)}")
    everything = [case for one in cases.values() for case in one]
    mine = everything[HARNESSES.index(harness) :: 5 * STEP] if harness.slow else everything[FAST.index(harness) :: STEP]
    began = time.monotonic()
    said = _said(harness, folder, place, tmp_path, mine)
    golden.note(f"{harness.name}: {harness.entry}", len(said), time.monotonic() - began)
    got = {case.name: _spelled(one) for case, one in zip(mine, said)}
    want = {case.name: _spelled(_wanted(case, one)) for case, one in zip(mine, said)}
    assert got == want


def _said(harness: Harness, folder: Path, place: Path, tmp_path: Path, mine: List[golden.Case]) -> Any:
    """What the harness says, in a process of its own."""
    (tmp_path / "cases").write_text(json.dumps([[case.competition, str(case.path)] for case in mine]))
    files = [place / "data", tmp_path / "cases", tmp_path / "answers"]
    command = [sys.executable, "-m", f"{__package__}.harnesses", "run", harness.name, str(folder), *map(str, files)]
    tests = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=tests, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    return json.loads((tmp_path / "answers").read_text())


def _wanted(case: golden.Case, said: Dict[str, Any]) -> Dict[str, Any]:
    valid = case.score is not None
    everything = {"score": case.score, "score or 0": case.score or 0.0, "valid": valid, "validated": valid}
    return {key: everything[key] for key in said}


def _spelled(said: Dict[str, Any]) -> Dict[str, Any]:
    return {key: golden.spell(value) if key.startswith("score") else value for key, value in said.items()}
