"""Attempts of agents."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, List, Literal, Mapping, Optional, Sequence, overload

from . import _frames, _html, _page
from ._binary import PathLike, call, call_json, operand, text
from ._errors import Error
from ._frames import Frame, Record


class Attempt:
    """An agent's attempt at a competition: an agent-run step of a run.

    Attributes:
        run: Id of the run.
        address: Address of the step, which names the attempt in the run.
        status: ran, cached, failed, skipped or cancelled; "" before its end.
        rows: Its rows of Run.scores, as dictionaries. One if it was graded
            once or not at all, more if by several steps, none if the step
            failed.
    """

    def __init__(self, run: str, address: str, step: Mapping[str, Any], rows: Sequence[Record]) -> None:
        self.run = run
        self.address = address
        self.status = str(step.get("status", ""))
        self.rows = list(rows)
        self._outputs: Mapping[str, str] = step.get("outputs") or {}

    def get(self, column: str) -> Any:
        """Value of a column of docs/export.md in the first row; None if it is missing."""
        return self.rows[0].get(column) if self.rows else None

    @property
    def agent(self) -> Optional[str]:
        """Name of the agent; None if the step failed."""
        value = self.get("agent")
        return None if value is None else str(value)

    @property
    def competition(self) -> Optional[str]:
        """Id of the competition; None if the step failed."""
        value = self.get("competition")
        return None if value is None else str(value)

    @property
    def seed(self) -> Optional[str]:
        """Seed, as a string; None if the step failed."""
        value = self.get("seed")
        return None if value is None else str(value)

    @property
    def score(self) -> Optional[float]:
        """Score in full precision; None without a score."""
        value = self.get("exact_score")
        return None if value is None else float(value)

    @property
    def medal(self) -> Optional[str]:
        """gold, silver, bronze, or None."""
        value = self.get("medal")
        return None if value is None else str(value)

    @property
    def outcome(self) -> Optional[str]:
        """Outcome of the grading: scored, invalid or missing; None if nothing graded it."""
        value = self.get("outcome") if self.get("graded") else None
        return None if value is None else str(value)

    def logs(self) -> str:
        """Read the agent's log, that of the last try.

        Bytes that are not UTF-8 become U+FFFD. Control characters are as the
        agent wrote them.

        Raises:
            Error: There is no log.
        """
        out, _ = call(["logs", self.run, self.address, "--raw"])
        return text(out)

    def transcript(self) -> List[Record]:
        """Read the agent's exchanges with its models, in order.

        Returns:
            An exchange is a dictionary as ``mleflow logs --transcript --json``
            prints it: docs/transcripts.md has the fields, such as ``said`` and
            ``reply`` (messages), ``seconds`` and ``cost_nanodollars``
            (billionths of a US dollar). It is empty if the agent asked none.

        Raises:
            Error: The transcript is damaged or gone.
        """
        try:
            out, _ = call(["logs", self.run, self.address, "--transcript", "--json"])
        except Error:
            if self._empty("transcript"):
                return []
            raise
        return [json.loads(line) for line in out.splitlines() if line.strip()]

    @overload
    def submission(self, frame: Literal["records"]) -> Optional[List[Record]]: ...

    @overload
    def submission(self, frame: Optional[Frame] = None) -> Any: ...

    def submission(self, frame: Optional[Frame] = None) -> Any:
        """Read the submission, a CSV file, as a table.

        Args:
            frame: "pandas", "polars" or "records", whose values are strings;
                default pandas, and records where it is not installed.

        Returns:
            The table, or None if the agent submitted nothing.

        Raises:
            Error: The submission is not in the cache any more.
            ImportError: The library asked for is not installed.
            ValueError: It is not a single CSV file; save writes what it is.
        """
        frame = _frames.choose(frame)
        if "submission" not in self._outputs:
            return None
        with tempfile.TemporaryDirectory() as folder:
            root = self.save(folder)
            files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink())
            if not files:
                return None
            if len(files) > 1 or files[0].suffix.lower() != ".csv":
                names = ", ".join(p.name for p in files[:5])
                raise ValueError(f"the submission is not a CSV file but {names}; save() writes it to a folder")
            return _frames.read_csv(files[0].read_bytes(), frame)

    def save(self, folder: PathLike, output: str = "submission") -> Path:
        """Write an output of the attempt to a folder.

        Args:
            folder: Folder to write to, which is made if it is missing.
                Nothing in it is replaced.
            output: submission, code, logs, transcript, snapshots or another
                output of the step.

        Returns:
            The path of the output in the folder: a folder, or a file.

        Raises:
            Error: There is no such output, or it exists in the folder.
        """
        name = f"{self.address}.{operand(output, 'output')}"
        done = call_json(["get", self.run, name, "--output", os.path.abspath(os.fspath(folder))])
        return Path(done["paths"][0])

    def _empty(self, output: str) -> bool:
        if output not in self._outputs:
            return True
        with tempfile.TemporaryDirectory() as folder:
            return not any(p.is_file() for p in self.save(folder, output).rglob("*"))

    def __repr__(self) -> str:
        return f"<mleflow.Attempt {self.address} of {self.run}: {self.status or 'not ended'}>"

    def _repr_html_(self) -> str:
        names = ["agent", "competition", "seed", "outcome", "exact_score", "medal", "rank", "teams", "reason"]
        names += ["attempt_outcome", "wall_seconds", "cost_usd", "isolation"]
        pairs = [(name.replace("_", " "), self.get(name)) for name in names]
        facts = _html.facts(f"Attempt {self.address}", [("run", self.run), ("status", self.status), *pairs])
        card = _page.competition(self.run, self.competition) if self.competition else None
        return facts + (card or "")
