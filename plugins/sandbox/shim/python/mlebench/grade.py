"""Validation works; grading is refused."""

import json
import os
import time
import uuid
from pathlib import Path

from mlebench import _shim
from mlebench.grade_helpers import CompetitionReport, InvalidSubmissionError
from mlebench.registry import Competition, Registry, registry

DEFAULT_REGISTRY = registry

VALID = "Submission is valid."


def validate_submission(submission, competition):
    """Asks the validity server. Gives whether the file is valid, and a message."""
    if competition.id != _shim.task()["competition"]["id"]:
        raise ValueError("the competition %r is not in this sandbox" % competition.id)
    path = Path(submission)
    if not path.is_file():
        return False, "Submission invalid! There is no file %s." % path
    if path.suffix.lower() != ".csv":
        return False, "Submission invalid! %s is not called .csv." % path
    status, reply, _ = _ask("/validate", path)
    if status != 200 or "result" not in reply:
        raise RuntimeError("the submission could not be validated: status %d, %s" % (status, reply.get("error")))
    return reply["result"] == VALID, reply["result"]


def score(predictions):
    """Asks for the validation score of predictions for the inputs in VALIDATION_DIR,
    which costs one of the attempt's queries. Gives the reply: score or what is
    reported instead, is_lower_better and left."""
    status, reply, wait = _ask("/score", Path(predictions))
    if status == 200:
        return reply
    if status == 422:
        raise InvalidSubmissionError(reply.get("error"))
    if status == 404:
        raise _shim.Refused("mlebench.score: this attempt has no validation score")
    more = "; ask again in %d seconds" % wait if wait else ""
    raise RuntimeError("there is no score: status %d, %s%s" % (status, reply.get("error"), more))


def _ask(where, path):
    """Posts a file, again while others are in front of it; gives the status, the reply
    and the seconds to wait."""
    for _ in range(30):
        status, headers, text = _send(where, path)
        wait = int(headers.get("Retry-After") or 0)
        if status != 429 or wait > 10:
            break
        time.sleep(wait or 5)
    try:
        reply = json.loads(text)
    except ValueError:
        reply = {"error": text[:200]}
    return status, reply, wait


def _send(where, path):
    """Posts a file without reading it into memory."""
    mark = uuid.uuid4().hex
    head = (
        '--%s\r\nContent-Disposition: form-data; name="file"; filename="submission.csv"\r\nContent-Type: text/csv\r\n\r\n' % mark
    ).encode()
    tail = ("\r\n--%s--\r\n" % mark).encode()
    with open(str(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return _shim.request("POST", where, _Parts(head, file, size, tail), {
            "Content-Type": "multipart/form-data; boundary=" + mark,
            "Content-Length": str(len(head) + size + len(tail)),
        }, 900)


class _Parts:
    """A head, a file of a known size and a tail, read as one."""

    def __init__(self, head, file, size, tail):
        self.head, self.file, self.left, self.tail = head, file, size, tail

    def read(self, n):
        if self.head:
            part, self.head = self.head, b""
        elif self.left > 0:
            part = self.file.read(min(n, self.left))
            self.left = self.left - len(part) if part else 0
        else:
            part, self.tail = self.tail, b""
        return part


def grade_csv(path_to_submission, competition):
    _shim.refuse("grade", "mlebench.grade.grade_csv", "path_to_submission", "competition")


def grade_jsonl(path_to_submissions, output_dir, registry=DEFAULT_REGISTRY):
    _shim.refuse("grade", "mlebench.grade.grade_jsonl", "path_to_submissions", "output_dir", "registry")


def aggregate_reports(competition_reports):
    _shim.refuse("grade", "mlebench.grade.aggregate_reports", "competition_reports")


def __getattr__(name):
    if name.startswith(("grade", "evaluate", "score", "rank")):
        return lambda *args, **kwargs: _shim.refuse("grade", "mlebench.grade." + name, *kwargs)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
