"""Runs."""

from __future__ import annotations

import re
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, Literal, Mapping, Optional, overload

from . import _board, _frames, _html, _page
from ._attempt import Attempt
from ._binary import call, call_json, operand
from ._board import Leaderboard
from ._frames import Frame, Record


def runs(limit: int = 0, name: Optional[str] = None, tags: Optional[Mapping[str, str]] = None) -> List[Run]:
    """List the runs in the cache, newest first.

    Args:
        limit: List at most so many; 0 lists all.
        name: List only runs of this name.
        tags: List only runs that have all of these tags.

    Raises:
        Error: The cache cannot be read.
    """
    args = ["runs", "--limit", str(limit)]
    if name is not None:
        args += [f"--name={name}"]
    for key, value in (tags or {}).items():
        args += [f"--tag={key}={value}"]
    return [Run._of(entry) for entry in call_json(args)["runs"] or []]


class Run:
    """A run of a pipeline.

    Attributes:
        id: Its id, such as ``"20261121T010904Z-955a"``.
    """

    def __init__(self, run: str = "latest") -> None:
        """Find a run.

        Args:
            run: Its id, the beginning of one, its name, ``"latest"`` or
                ``"latest~1"``.

        Raises:
            Error: There is no such run, or several.
        """
        self._entry: Mapping[str, Any] = call_json(["show", operand(run, "run")])
        self._shown = True
        self.id = str(self._entry["id"])

    @classmethod
    def _of(cls, entry: Mapping[str, Any]) -> Run:
        run = cls.__new__(cls)
        run._entry, run._shown, run.id = entry, False, str(entry["id"])
        return run

    @property
    def name(self) -> str:
        """Its given name, or the two words that name it otherwise."""
        if "called" not in self._entry:  # show does not say it
            called = {e["id"]: e["called"] for e in call_json(["runs", "--limit=0"])["runs"] or []}
            self._entry = {**self._entry, "called": called.get(self.id, "")}
        return str(self._entry["called"])

    @property
    def pipeline(self) -> str:
        """Path of the pipeline's file."""
        return str(self._entry["pipeline"])

    @property
    def state(self) -> str:
        """State when this object read it: running, finished or interrupted, for example."""
        return str(self._entry["state"])

    @property
    def started(self) -> datetime:
        """When it started, in UTC."""
        text = re.sub(r"(\.\d{1,6})\d*Z$|Z$", r"\1", str(self._entry["started"]))
        form = "%Y-%m-%dT%H:%M:%S.%f" if "." in text else "%Y-%m-%dT%H:%M:%S"
        return datetime.strptime(text, form).replace(tzinfo=timezone.utc)

    @property
    def untrusted(self) -> bool:
        """Whether an attempt was not isolated."""
        return bool(self._entry["untrusted"])

    def record(self) -> Dict[str, Any]:
        """Read the run's record, as ``mleflow show --json`` prints it: steps, outputs, warnings, variables.

        Raises:
            Error: The record is gone.
        """
        if not self._shown:
            self.refresh()
        return dict(self._entry)

    def refresh(self) -> None:
        """Read the record again, of a run that goes on.

        Raises:
            Error: The record is gone.
        """
        self._entry, self._shown = call_json(["show", self.id]), True

    def attempts(self) -> List[Attempt]:
        """List the attempts in the order of scores, then those whose step failed.

        Raises:
            Error: The run cannot be read.
        """
        rows: Dict[str, List[Record]] = {}
        for row in self.scores("records"):
            rows.setdefault(row["address"] or "", []).append(row)
        steps = {s["address"]: s for s in self.record()["steps"] or [] if s.get("kind") == "agent-run"}
        order = [a for a in rows if a in steps] + sorted(steps.keys() - rows.keys())
        return [Attempt(self.id, a, steps[a], rows.get(a, [])) for a in order]

    @overload
    def scores(self, frame: Literal["records"], table: str = "attempts") -> List[Record]: ...

    @overload
    def scores(self, frame: Optional[Frame] = None, table: str = "attempts") -> Any: ...

    def scores(self, frame: Optional[Frame] = None, table: str = "attempts") -> Any:
        """Read the scores, a row for each attempt; docs/export.md has the columns.

        Args:
            frame: "pandas", "polars" or "records"; default pandas, and
                records where it is not installed. Records have ``seed`` as a
                string.
            table: "attempts", or "snapshots" for scores over time.

        Raises:
            Error: The run cannot be read.
            ImportError: The library asked for is not installed.
        """
        frame = _frames.choose(frame)
        out, _ = call(["export", self.id, f"--table={table}", f"--format={_frames.export_format(frame)}"])
        return _frames.read_export(out, frame)

    def board(self, name: Optional[str] = None) -> Leaderboard:
        """Read the leaderboard of an aggregate step.

        Args:
            name: Address of the step, or its end, such as ``"board"``. It
                may be missing if the run has one leaderboard.

        Raises:
            LookupError: There is no such leaderboard, or several.
            Error: It is not in the cache any more.
        """
        address = self._aggregate(name)
        alone = len(self._aggregates()) == 1
        with tempfile.TemporaryDirectory() as folder:
            path = call_json(["get", self.id, f"{address}.files", "--output", folder])["paths"][0]
            data = Path(path, "board.json").read_bytes()
            text = Path(path, "board.txt").read_text("utf-8")
        return _board.decode(address, text, data, self.id if alone else None)

    def _aggregates(self) -> List[str]:
        steps = [s for s in self.record()["steps"] or [] if s.get("kind") == "aggregate"]
        return [str(s["address"]) for s in steps if "files" in (s.get("outputs") or {})]

    def _aggregate(self, name: Optional[str]) -> str:
        found = self._aggregates()
        if name is not None:
            found = [a for a in found if name in (a, a[len("step.aggregate.") :])]
        if len(found) == 1:
            return found[0]
        of = "" if name is None else f" {name!r}"
        many = f"several leaderboards, name one: {', '.join(found)}" if found else f"no leaderboard{of}"
        raise LookupError(f"run {self.id} has {many}")

    @overload
    def leaderboard(self, frame: Literal["records"], name: Optional[str] = None) -> List[Record]: ...

    @overload
    def leaderboard(self, frame: Optional[Frame] = None, name: Optional[str] = None) -> Any: ...

    def leaderboard(self, frame: Optional[Frame] = None, name: Optional[str] = None) -> Any:
        """Read a leaderboard as a table, a row for each agent; Leaderboard.frame has the columns.

        Args:
            frame: As of Run.scores.
            name: As of Run.board.

        Raises:
            LookupError: There is no such leaderboard, or several.
            Error: It is not in the cache any more.
            ImportError: The library asked for is not installed.
        """
        return self.board(name).frame(frame)

    def __repr__(self) -> str:
        return f"<mleflow.Run {self.id} {self.name}: {self.state}>"

    def _repr_html_(self) -> str:
        return _page.run(self.id) or self._facts()

    def _facts(self) -> str:
        entry = self._entry
        finish = entry.get("finish") or {}
        counts = ", ".join(f"{finish[k]} {k}" for k in ("ran", "cached", "failed", "skipped") if finish.get(k))
        pairs = [("name", self.name), ("pipeline", entry.get("name")), ("started", entry["started"])]
        pairs += [("state", self.state), ("steps", counts), ("mleflow", entry.get("version"))]
        pairs += [("note", entry.get("note"))]
        note = "Untrusted: attempts were not isolated." if self.untrusted else ""
        return _html.facts(f"Run {self.id}", pairs, note)
