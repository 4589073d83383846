"""Graders and reports. No grader grades here."""

import datetime

from mlebench import _shim


class InvalidSubmissionError(Exception):
    """A submission that cannot be graded."""


class Grader:
    """The grader of a competition: its name and direction are told, no more."""

    def __init__(self, name, grade_fn=None, lower=None):
        self.name = name
        self._lower = lower

    @staticmethod
    def from_dict(data):
        return Grader(**data)

    def is_lower_better(self, leaderboard=None):
        """The direction of the metric; no leaderboard is needed."""
        if self._lower is None:
            _shim.refuse("leaderboard", "mlebench.grade_helpers.Grader.is_lower_better", "leaderboard")
        return self._lower

    def grade_fn(self, submission, answers):
        _shim.refuse("grade", "mlebench.grade_helpers.Grader.grade_fn", "submission", "answers")

    def __call__(self, submission, answers):
        _shim.refuse("grade", "mlebench.grade_helpers.Grader", "submission", "answers")

    def rank_score(self, score, leaderboard):
        _shim.refuse("leaderboard", "mlebench.grade_helpers.Grader.rank_score", "score", "leaderboard")


class CompetitionReport:
    """A grading report, for those who read or write them."""

    fields = (
        "competition_id", "score", "gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold",
        "any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists",
        "valid_submission", "is_lower_better", "created_at", "submission_path",
    )

    def __init__(self, **values):
        unknown, lacking = set(values) - set(self.fields), set(self.fields) - set(values)
        if unknown or lacking:
            raise TypeError("fields of a report: unknown %s, missing %s" % (sorted(unknown), sorted(lacking)))
        self.__dict__.update(values)

    def to_dict(self):
        values = {name: getattr(self, name) for name in self.fields}
        if hasattr(self.created_at, "isoformat"):
            values["created_at"] = self.created_at.isoformat()
        return values

    @classmethod
    def from_dict(cls, data):
        values = {name: data[name] for name in cls.fields}
        values["created_at"] = datetime.datetime.fromisoformat(values["created_at"])
        return cls(**values)

    def __repr__(self):
        return "CompetitionReport(%s)" % ", ".join("%s=%r" % (name, getattr(self, name)) for name in self.fields)
