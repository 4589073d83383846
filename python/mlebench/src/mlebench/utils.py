"""Tools that harnesses import from here."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, Optional

from mlebench._tools import *  # noqa: F401,F403
from mlebench._tools import generate_run_id, logger, read_csv, read_jsonl


def authenticate_kaggle_api() -> Any:
    """A client of Kaggle's API, of the package kaggle. mleflow itself needs none."""
    try:
        from kaggle.api.kaggle_api_extended import KaggleApi

        api = KaggleApi()
        api.authenticate()
        api.competitions_list()
        return api
    except Exception as err:
        logger.error("Authentication at Kaggle failed: %s", err)
        raise PermissionError("Kaggle did not accept the credentials, or there are none: %s" % err) from err


def load_answers(path_to_answers: Path) -> Any:
    """Answers as a table, or those of a .jsonl file as a list of dictionaries."""
    suffix = Path(path_to_answers).suffix
    if suffix == ".csv":
        return read_csv(path_to_answers)
    if suffix == ".jsonl":
        return read_jsonl(path_to_answers)
    raise ValueError(f"answers are .csv or .jsonl files, and this is none: {path_to_answers}")


def get_runs_dir() -> Path:
    """Folder of run groups: runs of the working folder."""
    return Path.cwd() / "runs"


def create_run_dir(
    competition_id: Optional[str] = None, agent_id: Optional[str] = None, run_group: Optional[str] = None
) -> Path:
    """Make a new folder for a run."""
    name = generate_run_id(competition_id, agent_id, run_group) if competition_id and agent_id else str(uuid.uuid4())
    made = get_runs_dir() / (run_group or "") / name
    made.mkdir(parents=True)
    return made
