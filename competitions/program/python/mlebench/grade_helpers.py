"""What a grader raises."""


class InvalidSubmissionError(Exception):
    """A submission that cannot be graded: the agent's fault."""
