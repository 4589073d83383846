"""Questions to the program mleflow, and files made of its answers."""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

from mleflow import _binary
from mleflow._errors import Diagnostic, Error, parse
from mleflow._frames import number

# Exit statuses of mleflow: a submission without a score, and data that differ
# from their checksums.
NO_SCORE = 4
_DIFFERS = 3

_SPLITS = {"low": "low", "medium": "medium", "high": "high", "dev": "dev", "split75": "all", "systemcard": "systemcard"}


class UnknownCompetition(AssertionError, ValueError):
    """There is no competition of that name."""


def user_cache_dir() -> Path:
    """The folder that appdirs.user_cache_dir() names."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _state() -> Path:
    """Where files are written for those who ask for their paths."""
    return user_cache_dir() / "mle-bench" / "mleflow"


def _settings() -> tuple[Optional[str], ...]:
    """What an answer depends on besides the question."""
    return tuple(os.environ.get(name) for name in ("MLEFLOW_BINARY", "MLEFLOW_COMPETITIONS", "XDG_CACHE_HOME", "HOME"))


def _remembered(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Ask each question once while the settings stay the same."""
    known = functools.lru_cache(maxsize=None)(lambda settings, *question: ask(*question))
    return functools.wraps(ask)(lambda *question: known(_settings(), *question))


@_remembered
def show(competition_id: str) -> Dict[str, Any]:
    """All that mleflow knows of a competition, its leaderboard included."""
    try:
        out, _ = _binary.call(["competition", "show", "--json", "--leaderboard", "--", competition_id])
    except Error as err:
        if err.exit_status != 2:
            raise
        raise UnknownCompetition("\n".join(map(str, err.diagnostics))) from None
    about: Dict[str, Any] = json.loads(out)
    return about


@_remembered
def competition_ids() -> List[str]:
    """All competitions but those of the demonstration, sorted."""
    listed = _binary.call_json(["competition", "list"])["competitions"]
    return [one["id"] for one in listed if one["complexity"] != "demo"]


@_remembered
def _split(name: str) -> List[str]:
    listed = _binary.call_json(["competition", "list", "--split", name])["competitions"]
    return [one["id"] for one in listed]


def lite() -> List[str]:
    return list(_split("low"))


@_remembered
def splits_dir() -> Path:
    """A folder with a file of identifiers for each set."""
    folder = _state() / "experiments" / "splits"
    for name, split in _SPLITS.items():
        _write(folder / (name + ".txt"), "".join(one + "\n" for one in _split(split)))
    _write(folder / "spaceship-titanic.txt", "spaceship-titanic\n")
    return folder


@_remembered
def competition_dir(competition_id: str) -> Path:
    """A folder with the leaderboard and the checksums of a competition."""
    about = show(competition_id)
    folder = competitions_dir() / competition_id
    scores = [number(one) for one in about.get("scores") or []]
    _write(folder / "leaderboard.csv", "".join(f"{line}\n" for line in ["score", *map(repr, scores)]))
    sums: Dict[str, Dict[str, str]] = {"private": {}, "public": {}}
    for path, md5 in sorted(about["pins"].items()):
        half, _, name = path.partition("/")
        if half in sums and "/" not in name:
            sums[half][name] = md5
    lines = [f"{half}: {json.dumps(files)}" for half, files in sums.items()]
    if about.get("download_md5"):
        lines.append(f"zip: {json.dumps(about['download_md5'])}")
    _write(folder / "checksums.yaml", "\n".join(lines) + "\n")
    return folder


def competitions_dir() -> Path:
    return _state() / "competitions"


def _write(path: Path, text: str) -> None:
    """Write a file at once, unless it has the text already."""
    data = text.encode()
    try:
        if path.read_bytes() == data:
            return
    except OSError:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=path.parent, prefix="." + path.name)
    with os.fdopen(handle, "wb") as f:
        f.write(data)
    os.chmod(made, 0o644)
    os.replace(made, path)


def grade(competition_id: str, submission: Path, answers: Path, data_dir: Optional[Path] = None) -> Dict[str, Any]:
    """The report on a submission, in the version of the data in data_dir."""
    flags = [f"--answers={answers}"]
    if data_dir is not None:
        flags.append(f"--data-dir={data_dir}")
    command = ["grade-sample", "--json", *flags, "--", str(submission), competition_id]
    out, _ = _binary.call(command, accept=(0, NO_SCORE))
    report: Dict[str, Any] = json.loads(out)
    return {name: number(value) for name, value in report.items()}


def rank(score: Optional[float], leaderboard: Path) -> Dict[str, Any]:
    """What a score earns on a leaderboard file."""
    text = "nan" if score is None else repr(float(score))
    command = ["competition", "rank", "--json", "--", text, str(leaderboard)]
    try:
        out, _ = _binary.call(command)
    except Error as err:
        if err.exit_status != 2:
            raise
        raise ValueError("\n".join(map(str, err.diagnostics))) from None
    return {name: number(value) for name, value in json.loads(out).items()}


def prepare(
    competition_ids: Iterable[str], data_dir: Path, flags: Sequence[str], tell: Callable[[str], object]
) -> None:
    """Prepare competitions; progress is told line by line.

    Raises:
        ValueError: Prepared files differ from their checksums.
        mleflow.Error: Anything else.
    """
    command = ["prepare", "--json", f"--data-dir={data_dir}", *flags]
    command += [f"--competition={one}" for one in competition_ids]
    out: List[str] = []

    def progress(line: str) -> None:
        if line.strip() and not line.startswith(("{", "Error:")):
            tell(line.strip())

    status, kept = _binary.stream(command, out.append, progress)
    if status == 0:
        return
    result = _binary.json_or_none("\n".join(out)) or {}
    entries = result.get("competitions") or []
    failed = [Diagnostic(f"{one['competition']}: {one['error']}") for one in entries if one.get("error")]
    error = Error(command, status, failed or parse(kept), result=result)
    if status == _DIFFERS:
        raise ValueError("\n".join(map(str, error.diagnostics))) from error
    raise error
