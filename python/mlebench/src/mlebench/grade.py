"""Grading submissions."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Sequence, Tuple

from mlebench import _program
from mlebench.data import get_leaderboard, is_dataset_prepared  # noqa: F401
from mlebench.grade_helpers import CompetitionReport, tell_invalid
from mlebench.registry import Competition, Registry
from mlebench.registry import registry as DEFAULT_REGISTRY
from mlebench.utils import get_logger, get_timestamp, load_answers, purple, read_csv, read_jsonl

logger = get_logger(__name__)

VALID = "Submission is valid."


def grade_csv(path_to_submission: Path, competition: Competition) -> CompetitionReport:
    """Grade a submission, and compare it with the leaderboard.

    Raises:
        ValueError: The competition is not prepared.
        mleflow.Error: The grader failed; a submission without a score is no
            error.
    """
    return CompetitionReport.from_dict(_report(Path(path_to_submission), competition))


def _report(path: Path, competition: Competition) -> Dict[str, Any]:
    _need_prepared(competition)
    if not competition.grader.is_known():
        return _own_report(path, competition)
    report = _ask(path, competition)
    if report["outcome"] == "missing":
        logger.warning("Invalid submission file %s: %s.", path, report["reason"])
    tell_invalid(report)
    if competition.leaderboard != _program.competitions_dir() / competition.id / "leaderboard.csv":
        report.update(_program.rank(report["score"], competition.leaderboard))
    return report


def _ask(path: Path, competition: Competition) -> Dict[str, Any]:
    return _program.grade(competition.id, path, competition.answers, competition.data_dir)


def _own_report(path: Path, competition: Competition) -> Dict[str, Any]:
    """The report on a competition whose grade_fn is a function of the caller."""
    exists = path.is_file() and path.suffix.lower() == ".csv"
    score = None
    if exists:
        score = competition.grader(read_csv(path), load_answers(competition.answers))
    return {
        "competition_id": competition.id,
        "score": score,
        "submission_exists": exists,
        "valid_submission": score is not None,
        "created_at": datetime.now().isoformat(),
        "submission_path": str(path),
        **_program.rank(score, competition.leaderboard),
    }


def _need_prepared(competition: Competition) -> None:
    if not is_dataset_prepared(competition, grading_only=True):
        raise ValueError(f"the competition {competition.id} is not prepared; run mlebench prepare -c {competition.id}")


def validate_submission(submission: Path, competition: Competition) -> Tuple[bool, str]:
    """Whether a submission can be graded, and a message."""
    submission = Path(submission)
    if not submission.is_file():
        return False, f"Submission invalid! There is no file {submission}."
    if submission.suffix.lower() != ".csv":
        return False, f"Submission invalid! The name of {submission} does not end in .csv."
    _need_prepared(competition)
    if competition.grader.is_known():
        reason = _ask(submission, competition)["reason"]
    else:
        reason = ""
        try:
            competition.grader.grade_fn(read_csv(submission), load_answers(competition.answers))
        except Exception as err:
            reason = str(err) or type(err).__name__
    return (False, f"Submission invalid! {reason}") if reason else (True, VALID)


def grade_jsonl(path_to_submissions: Path, output_dir: Path, registry: Registry = DEFAULT_REGISTRY) -> None:
    """Grade the submissions of a list, and write <time>_grading_report.json with totals and reports."""
    reports = []
    for entry in read_jsonl(path_to_submissions, skip_commented_out_lines=True):
        path, competition_id = Path(str(entry["submission_path"])), entry["competition_id"]
        reports.append(grade_csv(path, registry.get_competition(competition_id)))
    summary = aggregate_reports(reports)
    logger.info(json.dumps({name: value for name, value in summary.items() if name != "competition_reports"}, indent=4))
    path = _write_report(summary, Path(output_dir))
    logger.info(purple(f"The report is {path}"))


def _write_report(summary: Dict[str, Any], folder: Path) -> Path:
    """Write a report; a further one of the same second gets a number."""
    folder.mkdir(parents=True, exist_ok=True)
    stem, n = f"{get_timestamp()}_grading_report", 1
    path = folder / f"{stem}.json"
    while True:
        try:
            with open(path, "x", encoding="utf-8") as f:
                json.dump(summary, f, indent=2)
            return path
        except FileExistsError:
            n += 1
            path = folder / f"{stem}_{n:04}.json"


def aggregate_reports(competition_reports: Sequence[CompetitionReport]) -> Dict[str, Any]:
    """Totals, and the reports."""

    def count(name: str) -> int:
        return sum(bool(getattr(report, name)) for report in competition_reports)

    medals = {name: count(name) for name in ("gold_medal", "silver_medal", "bronze_medal")}
    return {
        "total_runs": len(competition_reports),
        "total_runs_with_submissions": count("submission_exists"),
        "total_valid_submissions": count("valid_submission"),
        "total_medals": sum(medals.values()),
        **{f"total_{name}s": n for name, n in medals.items()},
        "total_above_median": count("above_median"),
        "competition_reports": [report.to_dict() for report in competition_reports],
    }
