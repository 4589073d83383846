"""The base of metrics."""

from mlebench.grade_helpers import InvalidSubmissionError  # noqa: F401


class CompetitionMetrics:
    """A metric says whether a submission is valid, and scores it."""

    def __init__(self, higher_is_better=True):
        self.higher_is_better = higher_is_better

    def validate_submission(self, submission, ground_truth):
        raise NotImplementedError

    def evaluate(self, y_true, y_pred):
        raise NotImplementedError
