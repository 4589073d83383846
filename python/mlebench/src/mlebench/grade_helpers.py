"""Graders and reports."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Optional

from mlebench import _program
from mlebench.utils import get_logger, import_fn

if TYPE_CHECKING:
    import pandas as pd

logger = get_logger(__name__)

_RANK = ("gold_medal", "silver_medal", "bronze_medal", "above_median")
_THRESHOLDS = ("gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold")


class InvalidSubmissionError(Exception):
    """A submission that cannot be graded."""


class Grader:
    """The grader of a competition.

    Attributes:
        name: Name of the metric.
        grade_fn: Function of submission and answers, which returns the score
            at full precision or raises InvalidSubmissionError.
    """

    def __init__(self, name: str, grade_fn: str) -> None:
        assert isinstance(name, str) and name, "the name of a grader is a string that is not empty"
        self.name = name
        self.grade_fn: Any = import_fn(grade_fn)

    @staticmethod
    def from_dict(data: Dict[str, Any]) -> Grader:
        return Grader(**data)

    def is_known(self) -> bool:
        """Whether grade_fn asks mleflow; otherwise it is a function of the caller."""
        return hasattr(self.grade_fn, "report")

    def is_lower_better(self, leaderboard: pd.DataFrame) -> bool:
        """Whether lower scores are better, by a leaderboard in rank order."""
        return bool(_rank(None, leaderboard)["is_lower_better"])

    def __call__(self, submission: pd.DataFrame, answers: Any) -> Optional[float]:
        """The score, rounded to five decimals; None if the submission is invalid."""
        if self.is_known():
            result = self.grade_fn.report(submission, answers)
            tell_invalid(result)
            return None if result["score"] is None else float(result["score"])
        try:
            score: float = round(self.grade_fn(submission, answers), 5)
            return score
        except InvalidSubmissionError as err:
            logger.warning("Invalid submission: %s", err)
        except Exception as err:  # as the reference: a grader that fails gives no score
            logger.error("The grader %s failed: %s", self.name, err)
        return None

    def rank_score(self, score: Optional[float], leaderboard: pd.DataFrame) -> Dict[str, Any]:
        """The medal of a score, and the thresholds."""
        ranked = _rank(score, leaderboard)
        return {name: ranked[name] for name in _RANK + _THRESHOLDS}


def _rank(score: Optional[float], leaderboard: pd.DataFrame) -> Dict[str, Any]:
    assert "score" in leaderboard.columns, "the leaderboard has no column score"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "leaderboard.csv")
        leaderboard[["score"]].to_csv(path, index=False)
        return _program.rank(score, path)


def grade_tables(competition_id: str, submission: pd.DataFrame, answers: Any) -> Dict[str, Any]:
    """The program's report on a table; answers are a table or a list of dictionaries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "submission.csv")
        submission.to_csv(path, index=False)
        if hasattr(answers, "to_csv"):
            truth = Path(folder, "answers.csv")
            answers.to_csv(truth, index=False)
        else:
            truth = Path(folder, "answers.jsonl")
            truth.write_text("".join(json.dumps(one) + "\n" for one in answers), encoding="utf-8")
        return _program.grade(competition_id, path, truth)


def tell_invalid(report: Dict[str, Any]) -> None:
    """Log why a submission has no score. Harnesses cut JSON out of what is logged, so braces are replaced."""
    if report["outcome"] == "invalid":
        logger.warning("Invalid submission: %s", report["reason"].replace("{", "(").replace("}", ")"))


@dataclass(frozen=True)
class CompetitionReport:
    """Result of grading one submission.

    Attributes:
        score: Rounded to five decimals; None if the submission is missing or
            invalid.
    """

    competition_id: str
    score: Optional[float]
    gold_threshold: float
    silver_threshold: float
    bronze_threshold: float
    median_threshold: float
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: datetime
    submission_path: str

    def to_dict(self) -> Dict[str, Any]:
        """Values for JSON."""
        return {**asdict(self), "created_at": self.created_at.isoformat()}

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> CompetitionReport:
        """The report of a dictionary; keys besides the fields are passed over."""
        values = {field.name: data[field.name] for field in fields(cls)}
        values["created_at"] = datetime.fromisoformat(values["created_at"])
        for name in _THRESHOLDS:
            values[name] = math.nan if values[name] is None else float(values[name])
        if values["score"] is not None:
            values["score"] = float(values["score"])
        return cls(**values)
