"""Errors of the program, as exceptions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence


@dataclass(frozen=True)
class Position:
    """A place in a file that a person wrote.

    Attributes:
        filename: Path of the file, as the program was given it.
        line: Line, counted from 1.
        column: Column in characters, counted from 1.
    """

    filename: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong.

    Attributes:
        summary: What is wrong, in one line.
        detail: Explanation and fix; empty if the summary says all.
        severity: ``"error"`` or ``"warning"``.
        position: Where it is wrong; None if it is not about a file.
    """

    summary: str
    detail: str = ""
    severity: str = "error"
    position: Optional[Position] = None

    def __str__(self) -> str:
        where = f"{self.position}: " if self.position else ""
        detail = "\n  " + self.detail.strip().replace("\n", "\n  ") if self.detail else ""
        return f"{where}{self.summary}{detail}"


class RunWarning(UserWarning):
    """A run warned of something, or an agent in it has no score."""


class Error(Exception):
    """The program could not do what it was asked for.

    Printing the exception prints all diagnostics.

    Attributes:
        command: The program's verb and arguments.
        exit_status: Its exit status: 1 if a step or the work failed, 2 for
            wrong usage or an invalid file, 3 for content that differs from a
            checksum, 130 if it was interrupted; negative for a signal.
        diagnostics: What is wrong; never empty.
        run: Id of the run that failed, or None.
        result: JSON that the program printed nevertheless, or None.
    """

    def __init__(
        self,
        command: Sequence[str],
        exit_status: int,
        diagnostics: Sequence[Diagnostic],
        run: Optional[str] = None,
        result: Any = None,
    ) -> None:
        self.command = list(command)
        self.exit_status = exit_status
        self.diagnostics = list(diagnostics) or [Diagnostic(f"exit status {exit_status}")]
        self.run = run
        self.result = result
        super().__init__(self.command, exit_status, self.diagnostics, run, result)

    def __str__(self) -> str:
        verb = " ".join(self.command[:1])
        run = f", run {self.run}" if self.run else ""
        lines = [f"mleflow {verb}: exit status {self.exit_status}{run}"]
        return "\n".join(lines + [str(d) for d in self.diagnostics])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Error, (self.command, self.exit_status, self.diagnostics, self.run, self.result))


class NotInstalled(FileNotFoundError):
    """The program ``mleflow`` was not found."""


# Tracebacks name them as users do.
Error.__module__ = NotInstalled.__module__ = "mleflow"


def parse(stderr: str) -> list[Diagnostic]:
    """Read the diagnostics in what the program wrote to standard error.

    Args:
        stderr: All of it, or its end. Lines of progress are passed over.

    Returns:
        The diagnostics in order. If there are none, the last lines as one.
    """
    lines = stderr.splitlines()
    found: list[Diagnostic] = []
    for number, line in enumerate(lines):
        if line.startswith('{"diagnostics":'):
            found += _decode(line)
        elif line.startswith("Error: "):
            text = "\n".join([line[len("Error: ") :], *lines[number + 1 :]])
            summary, _, detail = text.strip().partition("\n")
            found.append(Diagnostic(summary, detail))
            break
    if not found and stderr.strip():
        found.append(Diagnostic("\n".join(lines[-20:]).strip()))
    return found


def _decode(line: str) -> list[Diagnostic]:
    try:
        entries = json.loads(line)["diagnostics"] or []
    except (ValueError, KeyError, TypeError):
        return [Diagnostic(line)]
    return [decode(entry) for entry in entries]


def decode(entry: Mapping[str, Any]) -> Diagnostic:
    """Make a diagnostic of the program's JSON for one."""
    position = None
    extent = entry.get("range")
    if extent:
        start = extent["start"]
        position = Position(extent["filename"], start["line"], start["column"])
    return Diagnostic(
        entry.get("summary", ""), entry.get("detail", ""), entry.get("severity", "error"), position
    )
