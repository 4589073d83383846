"""A line that says how far a run is."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, Mapping, Optional, TextIO


class Progress:
    """Counts steps by a run's events, and redraws one line of a terminal or notebook."""

    def __init__(self, out: Optional[TextIO]) -> None:
        self._out = out
        self._drawn = 0.0
        self._width = 0
        self.steps = self.ended = self.failed = 0
        self._running: dict[str, None] = {}

    def event(self, event: Mapping[str, Any]) -> None:
        """Take an event into account."""
        kind, address = event.get("type"), str(event.get("address", ""))
        if kind == "run_started":
            self.steps = int(event.get("steps", 0))
        elif kind == "step_started":
            self._running[address] = None
        elif kind == "step_finished":
            self._running.pop(address, None)
            self.ended += 1
            self.failed += event.get("status") == "failed"
        else:
            return
        self.note(self.line())

    def line(self) -> str:
        """The line: steps that ended, that run and that failed, and the one that started last."""
        text = f"mleflow {self.ended}/{self.steps} steps"
        if self._running:
            text += f", {len(self._running)} running"
        if self.failed:
            text += f", {self.failed} failed"
        return text + "".join(f": {a}" for a in list(self._running)[-1:])

    def note(self, text: str) -> None:
        """Draw a line in place of the last one, at most ten times a second."""
        if self._out is None or time.monotonic() - self._drawn < 0.1:
            return
        self._drawn = time.monotonic()
        self._draw(text)

    def close(self) -> None:
        """Draw the counts for the last time, and end the line."""
        if self.steps:
            self._draw(self.line())
        if self._width:
            self._write("\n")

    def _draw(self, text: str) -> None:
        columns = shutil.get_terminal_size().columns - 1
        text = "".join(c if c.isprintable() else "?" for c in text)[:columns]
        self._write("\r" + text.ljust(self._width))
        self._width = len(text)

    def _write(self, text: str) -> None:
        if self._out is None:
            return
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        try:
            self._out.write(text.encode(encoding, "replace").decode(encoding))
            self._out.flush()
        except (OSError, ValueError):  # closed: the run goes on without the line
            self._out = None


def start(wanted: Optional[bool]) -> Progress:
    """Start a line on standard error.

    Args:
        wanted: Whether to draw; None draws in a terminal and a notebook.
    """
    if wanted is None:
        wanted = sys.stderr.isatty() or "ipykernel" in sys.modules
    return Progress(sys.stderr if wanted else None)
