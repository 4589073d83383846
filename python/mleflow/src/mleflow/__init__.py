"""Runs, scores, leaderboards, transcripts and grading of mleflow.

The package calls the program ``mleflow`` and reads its JSON and Arrow output.
It needs the standard library only. Tables are pandas or polars data frames
where these are installed, else lists of dictionaries.

Settings are the program's own environment variables, such as
``MLEFLOW_CACHE_DIR``. ``MLEFLOW_BINARY`` names the program itself.
"""

from __future__ import annotations

from ._apply import Event, apply, rehearse
from ._attempt import Attempt
from ._binary import binary, version
from ._board import Leaderboard
from ._compare import Comparison, compare
from ._errors import Diagnostic, Error, NotInstalled, Position, RunWarning
from ._eval_results import export_eval_results
from ._frames import Frame, Record
from ._grade import competitions, grade, prepare
from ._mlflow import export_mlflow
from ._rollout import Rollout, Trajectory, Turn
from ._run import Run, runs
from ._server import Server, Submission, connect
from ._trackio import export_trackio
from ._wandb import export_wandb

__all__ = [
    "Attempt",
    "Comparison",
    "Diagnostic",
    "Error",
    "Event",
    "Frame",
    "Leaderboard",
    "NotInstalled",
    "Position",
    "Record",
    "Rollout",
    "Run",
    "RunWarning",
    "Server",
    "Submission",
    "Trajectory",
    "Turn",
    "__version__",
    "apply",
    "binary",
    "compare",
    "competitions",
    "connect",
    "export_eval_results",
    "export_mlflow",
    "export_trackio",
    "export_wandb",
    "grade",
    "prepare",
    "rehearse",
    "runs",
    "version",
]


__version__: str


def __getattr__(name: str) -> str:
    """Version of the package, read when it is asked for: reading it takes longer than the import."""
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("mleflow")
        except metadata.PackageNotFoundError:
            pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
