"""Runs a function of a competition's code.

    run.py prepare MODULE:FUNCTION RAW PUBLIC PRIVATE
    run.py grade MODULE:FUNCTION SUBMISSION... ANSWERS

grade prints an object of JSON a submission: the score and its rounding, or why the
submission is invalid. Whatever else the code prints goes to standard error. Each of
several submissions is graded by a process of its own.
"""

import importlib
import inspect
import json
import math
import os
import sys
import traceback
from pathlib import Path


def load(name):
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def scorer(name):
    """How a submission is scored, and how tables are read. A class is a metric of MLE-Dojo."""
    function = load(name)
    if not inspect.isclass(function):
        from mlebench.utils import load_answers, read_csv

        return function, read_csv, load_answers
    from pandas import read_csv as read

    metrics = function()

    def score(submission, answers):
        metrics.validate_submission(submission, answers)
        return metrics.evaluate(answers, submission)

    return score, read, read


def prepare(name, raw, public, private):
    load(name)(Path(raw), Path(public), Path(private))


# What a submission cannot cause: the code, its packages or the machine are at fault.
OURS = (ImportError, MemoryError, NameError, OSError, SyntaxError)


def grade(function, read, submission, truth):
    from mlebench.grade_helpers import InvalidSubmissionError

    try:
        table = read(submission)
    except OSError:
        raise
    except Exception as err:
        return {"invalid": "the file cannot be read as a table: %s" % err}
    try:
        score = function(table, truth)
    except InvalidSubmissionError as err:
        return {"invalid": str(err) or "the grader refuses it"}
    except OURS:
        raise
    except Exception as err:
        traceback.print_exc()
        return {"invalid": "the grader fails on it: %s: %s" % (type(err).__name__, err)}
    return number(score)


def number(score):
    """The score as JSON has it, with the rounding of its type."""
    numpy = sys.modules.get("numpy")
    rounding = "python"
    if numpy is not None and isinstance(score, (numpy.number, numpy.bool_)):
        rounding, score = "numpy", score.item()
    if isinstance(score, int):
        rounding = "integer"
    elif not isinstance(score, float):
        raise TypeError("the grader returned %s, not a number: %.100r" % (type(score).__name__, score))
    score = float(score)
    if not math.isfinite(score):
        score = str(score)
    return {"score": score, "rounding": rounding}


def grade_all(out, name, *files):
    function, read, load_answers = scorer(name)
    truth, submissions = load_answers(files[-1]), files[:-1]
    for submission in submissions:
        child = os.fork() if len(submissions) > 1 else 0
        if child and os.waitpid(child, 0)[1]:
            sys.exit("%s cannot be graded" % submission)
        if child:
            continue
        verdict = grade(function, read, submission, truth)
        if "invalid" in verdict:
            verdict["invalid"] = verdict["invalid"][:2000]
        out.write(json.dumps(verdict) + "\n")
        out.flush()
        sys.stderr.flush()
        if len(submissions) > 1:
            os._exit(0)
    os._exit(0)  # whatever threads the code has left


def main(what, *args):
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if what == "prepare":
        prepare(*args)
    else:
        grade_all(out, *args)


if __name__ == "__main__":
    main(*sys.argv[1:])
