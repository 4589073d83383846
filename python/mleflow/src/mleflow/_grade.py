"""Preparing and grading without a pipeline."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _frames
from ._binary import PathLike, call_json, operand
from ._errors import Diagnostic, Error

# Exit status of a submission without a score, which is no error of the caller.
_NO_SCORE = 4


def competitions(split: str = "all") -> List[str]:
    """List the ids of a set of competitions: low (or lite), medium, high, all, dev, systemcard, demo or own."""
    return [str(c["id"]) for c in call_json(["competition", "list", "--split", operand(split, "set")])["competitions"]]


def grade(
    submission: Union[PathLike, Any],
    competition: str,
    data_dir: Optional[PathLike] = None,
    *,
    version: Optional[str] = None,
    args: Sequence[str] = (),
) -> Dict[str, Any]:
    """Grade a submission, and compare it with the human leaderboard.

    Args:
        submission: Path of a CSV file, or a table: a data frame of pandas or
            polars (written without its index), a pyarrow table, or a list of
            dictionaries.
        competition: Id of the competition, which must be prepared.
        data_dir: Folder of prepared data; default data in the cache folder.
            Rehearsals are in its folder ``rehearsal``.
        version: Version of the competition, such as "v2"; default that of the
            data.
        args: More flags of ``mleflow grade-sample``.

    Returns:
        The grading report. ``outcome`` is scored, invalid or missing, with
        the ``reason``; a submission without a score is no exception.
        ``score`` is rounded to five decimals, ``exact_score`` is not.

    Raises:
        Error: The competition is unknown or not prepared.
        TypeError: submission is neither a path nor a table.
    """
    args = [*_version(version), *args]
    if isinstance(submission, (str, os.PathLike)):
        return _grade(operand(submission, "submission"), competition, data_dir, args)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "submission.csv")
        path.write_bytes(_frames.write_csv(submission))
        return _grade(str(path), competition, data_dir, args)


def _grade(path: str, competition: str, data_dir: Optional[PathLike], args: Sequence[str]) -> Dict[str, Any]:
    command = ["grade-sample", path, operand(competition, "competition"), *_data_dir(data_dir), *args]
    return _frames.numbers(call_json(command, accept=(0, _NO_SCORE)))


def prepare(
    *competitions: str,
    data_dir: Optional[PathLike] = None,
    raw: Optional[PathLike] = None,
    rehearsal: bool = False,
    version: Optional[str] = None,
    args: Sequence[str] = (),
) -> List[Dict[str, Any]]:
    """Prepare competitions: split raw data into what agents see and the answers.

    Args:
        competitions: Ids of the competitions.
        data_dir: Folder to write to; default data in the cache folder.
        raw: Folder of the unpacked downloads; default the competition's own
            source, such as Kaggle.
        rehearsal: Prepare tiny synthetic data instead, in the folder
            ``rehearsal`` of data_dir; without network or account.
        version: Version of the competitions, such as "v2"; default "v1".
        args: More flags of ``mleflow prepare``, such as ``["--offline"]``.

    Returns:
        A dictionary for each competition, with ``competition``, ``path`` of
        the prepared folder and ``verified``: whether its checksums match.

    Raises:
        Error: Some could not be prepared; the diagnostics name them, and
            ``result`` has all.
        ValueError: No competition is named.
    """
    if not competitions:
        raise ValueError("no competition is named")
    command = ["prepare", *_data_dir(data_dir), *_version(version), *args]
    command += [f"--competition={operand(c, 'competition')}" for c in competitions]
    if raw is not None:
        command.append(f"--raw={os.fspath(raw)}")
    if rehearsal:
        command.append("--rehearsal")
    try:
        return list(call_json(command)["competitions"])
    except Error as err:
        raise _named(err) from None


def _named(err: Error) -> Error:
    """Replace diagnostics by those of each competition, if there are any."""
    entries = (err.result or {}).get("competitions") or []
    failed = [Diagnostic(f"{e['competition']}: {e['error']}") for e in entries if e.get("error")]
    return Error(err.command, err.exit_status, failed or err.diagnostics, result=err.result)


def _version(version: Optional[str]) -> List[str]:
    return [] if version is None else [f"--version={version}"]


def _data_dir(data_dir: Optional[PathLike]) -> List[str]:
    return [] if data_dir is None else [f"--data-dir={os.fspath(data_dir)}"]
