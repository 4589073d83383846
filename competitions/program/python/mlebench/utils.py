"""Tools of preparers and graders."""

from pathlib import Path

from mlebench._tools import *  # noqa: F401,F403
from mlebench._tools import get_module_dir, get_repo_dir, read_csv, read_jsonl  # noqa: F401


def load_answers(path_to_answers):
    """Answers as a table, or those of a .jsonl file as a list of dictionaries."""
    suffix = Path(path_to_answers).suffix
    if suffix == ".csv":
        return read_csv(path_to_answers)
    if suffix == ".jsonl":
        return read_jsonl(path_to_answers)
    raise ValueError("answers are .csv or .jsonl files, and this is none: %s" % Path(path_to_answers).name)
