"""Small tools that agents import from here."""

import uuid

from mlebench import _shim
from mlebench._tools import *  # noqa: F401,F403
from mlebench._tools import generate_run_id, get_module_dir, get_repo_dir  # noqa: F401


def get_runs_dir():
    """Where an agent may keep runs of its own."""
    return _shim.folder("agent") / "runs"


def create_run_dir(competition_id=None, agent_id=None, run_group=None):
    name = generate_run_id(competition_id, agent_id, run_group) if competition_id and agent_id else str(uuid.uuid4())
    made = get_runs_dir() / (run_group or "") / name
    made.mkdir(parents=True)
    return made


def load_answers(path_to_answers):
    _shim.refuse("answers", "mlebench.utils.load_answers", "path_to_answers")


def authenticate_kaggle_api():
    _shim.refuse("download", "mlebench.utils.authenticate_kaggle_api")
