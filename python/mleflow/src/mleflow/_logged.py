"""Attempts of a run as the viewers of experiments want them: parameters, metrics over time, tags and files."""

from __future__ import annotations

import importlib
import math
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from ._attempt import Attempt
from ._binary import call_json
from ._frames import Record
from ._run import Run

_PARAMS = (
    "agent competition seed competition_version agent_version category complexity is_lower_better model network"
    " time_limit_seconds cpu_limit memory_limit_bytes gpu_limit image_digest reference_profile conditions"
).split()
_TAGS = (
    "run run_name address made_in attempt_action grade_address grade_action outcome attempt_outcome medal standing"
    " isolation untrusted runtime task no_score reason pipeline mleflow submission_digest report_digest"
).split()
_AMONG_PEOPLE = "rank teams percentile above_median any_medal gold_medal silver_medal bronze_medal".split()
_MEASURED = (
    "wall_seconds cpu_seconds peak_memory_bytes requests input_tokens cached_input_tokens output_tokens cost_usd"
    " warnings notes"
).split()


@dataclass
class Logged:
    """An attempt, once for each step that graded it.

    Attributes:
        key: Names it for all time: run, step, and the grade step if several
            graded it.
        name: Agent, competition and seed, for people.
        run: Id of the run, by which viewers group.
        started: Start of the run, in UTC.
        failed: Whether its step failed, so that there is no result.
        params: What was chosen before it ran.
        metrics: Final values. There is no ``score`` without one.
        curve: Seconds since the agent's start, and metrics then.
        tags: What is known of it otherwise, such as isolation.
    """

    key: str
    name: str
    run: str
    started: datetime
    failed: bool
    params: Dict[str, str] = field(default_factory=dict)
    metrics: Dict[str, float] = field(default_factory=dict)
    curve: List[Tuple[int, Dict[str, float]]] = field(default_factory=list)
    tags: Dict[str, str] = field(default_factory=dict)
    _attempt: Optional[Attempt] = None

    @contextmanager
    def files(self, wanted: bool) -> Iterator[List[Path]]:
        """Write the submission and the grading report to a folder that is removed afterwards.

        Raises:
            Error: One is not in the cache any more.
        """
        with tempfile.TemporaryDirectory() as folder:
            if wanted and self._attempt is not None and self._attempt.get("submission_exists"):
                self._attempt.save(folder)
            grade = self.tags.get("grade_address")
            if wanted and grade:
                call_json(["get", self.run, f"{grade}.report", "--output", folder])
            yield sorted(p for p in Path(folder).rglob("*") if p.is_file() and not p.is_symlink())


def logged(run: Union[Run, str]) -> List[Logged]:
    """List the attempts of a run that have ended.

    Raises:
        Error: There is no such run, or it cannot be read.
    """
    run = run if isinstance(run, Run) else Run(run)
    curves: Dict[str, List[Record]] = {}
    for snapshot in run.scores("records", table="snapshots"):
        curves.setdefault(snapshot["address"] or "", []).append(snapshot)
    found = []
    for attempt in run.attempts():
        for row in attempt.rows or [{}]:
            if row or attempt.status == "failed":
                found.append(_logged(run, attempt, row, curves.get(attempt.address, [])))
    return found


def client(module: str) -> Any:
    """Import a viewer's package.

    Raises:
        ImportError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as err:
        if err.name != module:  # its own dependency, which its message names
            raise
        package = "mlflow-skinny (or mlflow)" if module == "mlflow" else module
        raise ImportError(f"the export needs the package {package}; install it with pip", name=module) from None


def _logged(run: Run, attempt: Attempt, row: Record, snapshots: List[Record]) -> Logged:
    several = len(attempt.rows) > 1
    key = f"{run.id}/{attempt.address}" + (f"/{row['grade_address']}" if several else "")
    label = [str(row[c]) for c in ("agent", "competition", "seed") if row.get(c) is not None]
    extra = {k: v for k, v in row.items() if k.startswith("label_")}
    tags = {**{c: row.get(c) for c in _TAGS}, **{k: v for k, v in row.items() if k.startswith("tag_")}}
    tags.update(run=run.id, run_name=run.name, address=attempt.address, key=key, status=attempt.status)
    tags["rehearsal"] = _rehearsal(row)
    return Logged(
        key=key,
        name=" ".join(label) or attempt.address,
        run=run.id,
        started=run.started,
        failed=not row,
        params=_strings({**{c: row.get(c) for c in _PARAMS}, **extra}),
        metrics=_metrics(row),
        curve=[(s["seconds"], _snapshot(s)) for s in snapshots],
        tags=_strings(tags),
        _attempt=attempt,
    )


def _metrics(row: Record) -> Dict[str, float]:
    values = {c: row.get(c) for c in _MEASURED}
    if row.get("graded"):
        values.update({c: row.get(c) for c in ("valid_submission", "submission_exists")}, score=row.get("exact_score"))
    if row.get("graded") and not _rehearsal(row):  # whose data no person was scored on
        values.update({c: row.get(c) for c in _AMONG_PEOPLE})
        if row.get("rank") is not None and row.get("teams"):
            values["rank_fraction"] = row["rank"] / row["teams"]
    return _floats(values)


def _rehearsal(row: Record) -> bool:
    return "(rehearsal)" in (row.get("task") or "")


def _snapshot(row: Record) -> Dict[str, float]:
    return _floats({"snapshot_score": row.get("score"), "snapshot_best_score": row.get("best_score")})


def _floats(values: Record) -> Dict[str, float]:
    return {k: float(v) for k, v in values.items() if v is not None and not math.isnan(float(v))}


def _strings(values: Record) -> Dict[str, str]:
    """Write values as the export's CSV does; missing ones are left out."""
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in values.items() if v is not None}
    return {k: v for k, v in texts.items() if v}
