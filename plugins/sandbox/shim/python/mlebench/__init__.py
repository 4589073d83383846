"""mlebench, as far as an agent may use it: a stand-in by mleflow.

The registry, the public files and the validation of a submission work for the
competition of this attempt. Whatever would grade a submission, or read answers
or the leaderboard, is refused with an exception (mlebench.Refused) or withheld,
and reported to the operator with the caller's file and line.
"""

from mlebench._shim import Refused, RefusedImport, RefusedPath

__all__ = ["Refused", "RefusedImport", "RefusedPath", "score"]


def score(predictions):
    """Asks for a validation score; see mlebench.grade.score."""
    from mlebench import grade

    return grade.score(predictions)
