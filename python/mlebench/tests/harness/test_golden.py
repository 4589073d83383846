"""The golden submissions through grade_csv, grader and the command mlebench.

A few competitions by default; MLEFLOW_GOLDEN=all grades all 3,239.
"""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List

import pytest

from mlebench.grade import grade_csv
from mlebench.registry import registry
from mlebench.utils import load_answers, read_csv

from . import golden

Cases = Dict[str, List[golden.Case]]


@pytest.mark.parametrize("competition", golden.chosen())
def test_grade_csv(cases: Cases, place: Path, competition: str) -> None:
    about = registry.set_data_dir(place / "data").get_competition(competition)
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda case: grade_csv(case.path, about), cases[competition]))
    golden.note("submissions graded by grade_csv", len(reports), time.monotonic() - began)
    want = {case.name: golden.spell(case.score) for case in cases[competition]}
    got = {case.name: golden.spell(report.score) for case, report in zip(cases[competition], reports)}
    assert got == want
    for case, report in zip(cases[competition], reports):
        assert report.submission_exists and report.competition_id == competition
        assert report.valid_submission == (case.score is not None), case.name
    answers = load_answers(about.answers)
    for case in cases[competition]:
        try:
            table = read_csv(case.path)
        except Exception:  # a harness cannot read it, either
            continue
        assert golden.spell(about.grader(table, answers)) == golden.spell(case.score), case.name


def test_none_is_left_out(cases: Cases) -> None:
    if golden.chosen() == list(golden.SLICE):
        pytest.skip("MLEFLOW_GOLDEN=all grades all cases")
    assert sum(map(len, cases.values())) == golden.ALL


def test_command(cases: Cases, place: Path) -> None:
    """mlebench grade-sample, with the report cut out of both streams."""
    want, got = {}, {}
    began = time.monotonic()
    for case in [case for one in cases.values() for case in one[::20]]:
        command = ["mlebench", "grade-sample", str(case.path), case.competition, "--data-dir", str(place / "data")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        want[case.name] = (golden.spell(case.score), case.score is not None)
        report = golden.cut(done.stdout + done.stderr)
        got[case.name] = (golden.spell(report["score"]), report["valid_submission"])
    golden.note("submissions graded by mlebench grade-sample", len(got), time.monotonic() - began)
    assert got == want
