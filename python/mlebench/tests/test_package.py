"""The package as harnesses import it."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mlebench.data import (
    ensure_leaderboard_exists,
    generate_checksums,
    get_checksum,
    get_leaderboard,
    is_dataset_prepared,
    is_valid_prepare_fn,
)
from mlebench.grade import aggregate_reports, grade_csv, validate_submission
from mlebench.grade_helpers import CompetitionReport, Grader, InvalidSubmissionError
from mlebench.registry import Competition, registry
from mlebench.utils import get_diff, import_fn, load_answers, load_yaml, read_csv


@pytest.fixture(scope="module")
def digits(data: Path) -> Competition:
    return registry.set_data_dir(data).get_competition("demo-digits")


def test_imports_of_pandas_wait() -> None:
    code = (
        "import mlebench.cli, mlebench.metrics, mlebench.competitions.utils, sys; "
        "print([m for m in ('pandas', 'numpy', 'yaml') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_registry(tmp_path: Path) -> None:
    ids = registry.list_competition_ids()
    assert len(ids) == 82 and ids == sorted(ids) and "leaf-classification" in ids
    assert len(registry.get_lite_competition_ids()) == 22
    splits = {path.stem: len(path.read_text().splitlines()) for path in registry.get_splits_dir().iterdir()}
    assert splits == {"low": 22, "medium": 38, "high": 15, "split75": 75, "dev": 7, "systemcard": 30, "spaceship-titanic": 1}
    assert registry.get_data_dir().parts[-2:] == ("mle-bench", "data")

    leaf = registry.set_data_dir(tmp_path).get_competition("leaf-classification")
    root = tmp_path.resolve() / "leaf-classification"
    assert (leaf.id, leaf.name, leaf.competition_type) == ("leaf-classification", "Leaf Classification", "simple")
    assert leaf.grader.name == "multi-class-log-loss" and leaf.description
    assert leaf.answers == leaf.gold_submission == root / "prepared/private/test.csv"
    assert leaf.sample_submission == root / "prepared/public/sample_submission.csv"
    assert (leaf.raw_dir, leaf.private_dir, leaf.public_dir) == (root / "raw", root / "prepared/private", root / "prepared/public")
    sums = load_yaml(leaf.checksums)
    assert sums["private"] == {"test.csv": "028b4798af4eeafc69ab98b22dc2c70a"}
    assert sums["zip"] == "043bdec7fadb7922978b7484217b6007" and len(sums["public"]) == 3
    board = get_leaderboard(leaf)
    assert len(board) == 1596 and leaf.grader.is_lower_better(board)
    assert registry.get_competitions_dir() / "dogs-vs-cats-redux-kernels-edition" / "leaderboard.csv" in list(
        registry.get_competitions_dir().glob("*/leaderboard.csv")
    )
    assert not is_dataset_prepared(leaf)
    leaf.public_dir.mkdir(parents=True)
    (leaf.public_dir / "description.md").write_text("The task.\n")
    assert registry.set_data_dir(tmp_path).get_competition("leaf-classification").description == "The task.\n"


@pytest.mark.parametrize("name", ["nosuch", "", "-v", "--json", "../leaf-classification", "leaf-classification/"])
def test_unknown_competition(name: str) -> None:
    for error in (AssertionError, ValueError):
        with pytest.raises(error):
            registry.get_competition(name)


def test_grade_csv(digits: Competition, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    report = grade_csv(digits.sample_submission, digits)
    assert report.score == 0.075 and report.valid_submission and not report.any_medal
    perfect = grade_csv(digits.gold_submission, digits)
    assert perfect.score == 1.0 and perfect.gold_medal and perfect.any_medal and perfect.above_median
    again = CompetitionReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again == report
    (tmp_path / "bad.csv").write_text("id,wrong\n1,2\n")
    bad = grade_csv(tmp_path / "bad.csv", digits)
    assert bad.score is None and bad.submission_exists and not bad.valid_submission
    assert any("Invalid submission" in one.message for one in caplog.records)
    summary = aggregate_reports([report, perfect, bad])
    assert (summary["total_runs"], summary["total_medals"], summary["total_gold_medals"]) == (3, 1, 1)
    assert summary["total_valid_submissions"] == 2 and len(summary["competition_reports"]) == 3


def test_not_prepared(tmp_path: Path) -> None:
    leaf = registry.set_data_dir(tmp_path).get_competition("leaf-classification")
    with pytest.raises(ValueError, match="mlebench prepare -c leaf-classification"):
        grade_csv(tmp_path / "x.csv", leaf)


def test_rehearsal(tmp_path: Path) -> None:
    """Synthetic data are graded as such: without medals."""
    import mleflow

    mleflow.prepare("leaf-classification", data_dir=tmp_path, rehearsal=True)
    leaf = registry.set_data_dir(tmp_path / "rehearsal").get_competition("leaf-classification")
    report = grade_csv(leaf.sample_submission, leaf)
    assert report.valid_submission and math.isnan(report.gold_threshold) and not report.any_medal


def test_validate(digits: Competition, tmp_path: Path) -> None:
    assert validate_submission(digits.sample_submission, digits) == (True, "Submission is valid.")
    (tmp_path / "bad.csv").write_text("id,wrong\n1,2\n")
    (tmp_path / "x.txt").write_text("")
    for name in ("bad.csv", "x.txt", "none.csv"):
        valid, message = validate_submission(tmp_path / name, digits)
        assert not valid and message.startswith("Submission invalid! ")


def test_grader_of_tables(digits: Competition) -> None:
    answers, submission = load_answers(digits.answers), read_csv(digits.sample_submission)
    assert digits.grader(submission, answers) == 0.075
    assert digits.grader(submission.head(3), answers) is None
    assert digits.grader.grade_fn(submission, answers) == 0.075
    with pytest.raises(InvalidSubmissionError, match="."):
        digits.grader.grade_fn(submission.rename(columns={"digit": "x"}), answers)
    # The answers given count, not those prepared.
    half = answers.head(len(answers) // 2)
    assert digits.grader(half, half) == 1.0
    assert import_fn("mlebench.competitions.demo-digits.grade:grade")(half, half) == 1.0


def test_pickled_for_a_pool(digits: Competition) -> None:
    """Another process, which has not imported the grader, grades the same."""
    code = (
        "import pickle, sys; c = pickle.load(sys.stdin.buffer); from mlebench.grade import grade_csv; "
        "print(grade_csv(c.sample_submission, c).score, c.prepare_fn.__name__)"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], input=pickle.dumps(digits))
    assert printed == b"0.075 prepare\n"


def test_modules_of_competitions() -> None:
    assert is_valid_prepare_fn(import_fn("mlebench.competitions.leaf-classification.prepare:prepare"))
    for name in ("nosuch.grade", "leaf-classification.nosuch", "leaf-classification.grade.deep", "nosuch"):
        with pytest.raises(ImportError):
            import_fn(f"mlebench.competitions.{name}:grade")


@pytest.mark.parametrize(
    # Places by Kaggle's rules: https://www.kaggle.com/progression.
    ("teams", "gold", "silver", "bronze"),
    [(1, 1, 1, 1), (50, 5, 10, 20), (100, 10, 20, 40), (249, 10, 49, 99), (250, 10, 50, 100), (1000, 12, 50, 100)],
)
@pytest.mark.parametrize("lower", [False, True])
def test_rank_score(digits: Competition, teams: int, gold: int, silver: int, bronze: int, lower: bool) -> None:
    scores = [float(n) if lower else 1000.0 - n for n in range(teams)]
    board = pd.DataFrame({"team": range(teams), "score": scores})
    grader = digits.grader
    ranked = grader.rank_score(scores[gold - 1], board)
    assert [ranked[f"{medal}_threshold"] for medal in ("gold", "silver", "bronze")] == [scores[n - 1] for n in (gold, silver, bronze)]
    assert ranked["median_threshold"] == board["score"].median()
    assert ranked["gold_medal"] and not ranked["silver_medal"] and not ranked["bronze_medal"]
    if teams > 1:
        assert grader.is_lower_better(board) is lower
        assert grader.rank_score(scores[bronze - 1], board)["bronze_medal"]
        assert not any(grader.rank_score(scores[bronze], board)[f"{m}_medal"] for m in ("gold", "silver", "bronze"))
    for worst in (None, math.nan):
        got = grader.rank_score(worst, board)
        assert not any(got[name] for name in ("gold_medal", "silver_medal", "bronze_medal", "above_median"))
    assert set(got) == {f"{m}_medal" for m in ("gold", "silver", "bronze")} | {"above_median"} | {
        f"{m}_threshold" for m in ("gold", "silver", "bronze", "median")
    }


def test_rank_refuses(digits: Competition) -> None:
    with pytest.raises(AssertionError):
        digits.grader.rank_score(1.0, pd.DataFrame({"x": [1.0]}))
    with pytest.raises(ValueError):
        digits.grader.rank_score(1.0, pd.DataFrame({"score": []}))


def test_a_leaderboard_and_a_grader_of_the_caller(digits: Competition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = tmp_path / "board.csv"
    board.write_text("score\n0.07\n0.06\n0.05\n")
    report = grade_csv(digits.sample_submission, dataclasses.replace(digits, leaderboard=board))
    assert report.gold_medal and report.gold_threshold == 0.07

    (tmp_path / "mine.py").write_text("def grade(submission, answers):\n    return len(submission) / len(answers) * 0.123456789\n")
    monkeypatch.syspath_prepend(tmp_path)
    mine = dataclasses.replace(digits, grader=Grader("mine", "mine:grade"), leaderboard=board)
    report = grade_csv(digits.sample_submission, mine)
    assert report.score == 0.12346 and report.gold_medal
    assert validate_submission(digits.sample_submission, mine)[0]


def test_leaderboard_and_checksums(digits: Competition, tmp_path: Path) -> None:
    assert ensure_leaderboard_exists(digits) == digits.leaderboard
    with pytest.raises(NotImplementedError, match="mleflow competition lock demo-digits --leaderboard"):
        ensure_leaderboard_exists(digits, force=True)
    with pytest.raises(FileNotFoundError):
        ensure_leaderboard_exists(dataclasses.replace(digits, leaderboard=tmp_path / "none.csv"))
    sums = load_yaml(digits.checksums)
    assert generate_checksums(digits.public_dir) == {k: v for k, v in sums["public"].items() if k.endswith(".csv")}
    path = tmp_path / "f"
    path.write_bytes(b"abc")  # RFC 1321, A.5
    assert get_checksum(path) == "900150983cd24fb0d6963f7d28e17f72"
    assert "+" in get_diff(sums, {**sums, "zip": "other"})


def test_prepare_fn(digits: Competition, data: Path, tmp_path: Path) -> None:
    from mlebench.data import download_and_prepare_dataset

    here = registry.set_data_dir(tmp_path).get_competition("demo-digits")
    download_and_prepare_dataset(here)
    assert any(here.raw_dir.iterdir()) and is_dataset_prepared(here)
    public, private = tmp_path / "a", tmp_path / "b"
    here.prepare_fn(here.raw_dir, public, private)
    for ours, theirs in ((public, digits.public_dir), (private, digits.private_dir)):
        assert generate_checksums(ours) == generate_checksums(theirs) != {}
    # Other raw data give other files.
    raw = here.raw_dir / "digits.csv"
    raw.write_text("".join(raw.read_text().splitlines(keepends=True)[:-1]))
    shutil.rmtree(here.public_dir.parent)
    with pytest.raises(ValueError, match="do not match"):
        download_and_prepare_dataset(here)
    download_and_prepare_dataset(here, skip_verification=True)
    shutil.rmtree(here.private_dir)
    assert not is_dataset_prepared(here, grading_only=True)


def test_reports_of_competitions_without_medals() -> None:
    values: "dict[str, Any]" = {field.name: False for field in dataclasses.fields(CompetitionReport)}
    values.update(created_at="2024-01-02T03:04:05.678901", score=1, submission_path="x", competition_id="x")
    values.update({f"{name}_threshold": None for name in ("gold", "silver", "bronze", "median")})
    report = CompetitionReport.from_dict(values)
    assert math.isnan(report.gold_threshold) and report.to_dict()["created_at"] == values["created_at"]
