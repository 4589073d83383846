"""Submissions of the golden cases have the scores of MLE-bench's own graders."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from mlebench.grade import grade_csv
from mlebench.registry import registry
from mlebench.utils import load_answers, read_csv

GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "golden"

# A table of numbers, and answers that are no CSV file; tests/harness has all.
CASES = ["leaf-classification", "tensorflow2-question-answering"]


@pytest.mark.parametrize("competition_id", CASES)
def test_scores(competition_id: str, tmp_path: Path) -> None:
    archive = GOLDEN / f"{competition_id}.tar.gz"
    if not archive.is_file():
        pytest.skip("the golden cases are not beside the checkout")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    case = tmp_path / competition_id
    competition = registry.set_data_dir(tmp_path / "data").get_competition(competition_id)
    competition.prepare_fn(case / "raw", competition.public_dir, competition.private_dir)
    answers = load_answers(competition.answers)
    expected = json.loads((case / "expected.json").read_text())
    assert expected
    for name, want in expected.items():
        path = case / "submissions" / name
        score = float(want["score"]) if want["status"] == "ok" else None
        assert str(grade_csv(path, competition).score) == str(score), name
        try:
            table = read_csv(path)
        except Exception:  # a harness cannot read it, either
            continue
        assert str(competition.grader(table, answers)) == str(score), name
