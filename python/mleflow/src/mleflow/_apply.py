"""Running pipelines."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from . import _progress, _vars
from ._binary import PathLike, json_or_none, operand, stream
from ._errors import Diagnostic, Error, RunWarning, parse
from ._run import Run

Event = Dict[str, Any]
"""An event of a run, with ``type`` and ``time``; docs/events.md has the types."""


def apply(
    path: PathLike,
    vars: Optional[Mapping[str, Any]] = None,
    on_event: Optional[Callable[[Event], None]] = None,
    *,
    args: Sequence[str] = (),
    progress: Optional[bool] = None,
) -> Run:
    """Run what is not cached of a pipeline, and wait for its end.

    An interrupt (Ctrl-C, or an exception of on_event) stops the run cleanly;
    the next apply continues it. Agents in a sandbox or container go on
    meanwhile, as of ``mleflow apply``.

    Args:
        path: File of the pipeline, or the name of one that ships with
            mleflow, such as ``"lite.hcl"``.
        vars: Variables of the pipeline: strings, numbers, booleans, None
            (null), lists and dictionaries. They are in the run's record,
            except those that the pipeline declares as sensitive.
        on_event: Called with each event, in this thread and in order.
        args: More flags of ``mleflow apply``, such as ``["--keep-going"]``.
        progress: Whether to draw a line of progress on standard error; None
            draws it in a terminal and a notebook.

    Returns:
        The run, in which no step failed.

    Warns:
        RunWarning: The run warned of something, such as agents that are not
            isolated; or attempts ended without a score, which is their result.

    Raises:
        Error: The pipeline is not valid, or a step failed. ``run`` is the id
            of the run if it started.
        ValueError: The name of a variable is not an identifier, or its value
            is not finite.
        TypeError: A variable has a value that HCL cannot have.
    """
    pipeline = operand(path, "pipeline")
    run: List[str] = []
    failed: List[Diagnostic] = []
    line = _progress.start(progress)

    def take(text: str) -> None:
        event = json_or_none(text)
        if not isinstance(event, dict):
            return
        if event.get("type") == "run_started":
            run.append(event["run"])
        elif event.get("type") == "step_finished" and event.get("status") == "failed":
            failed.append(Diagnostic(f"{event['address']} failed", event.get("error", "")))
        line.event(event)
        if on_event is not None:
            on_event(event)

    try:
        with _vars.flags(vars) as variables:
            command = ["apply", pipeline, *variables, *args, "--json"]
            status, stderr = stream(command, take)
    finally:
        line.close()
    if status != 0:
        raise Error(command, status, failed or _vars.without_file(parse(stderr), variables), run=run[0] if run else None)
    done = Run(run[0])
    for text in _warned(done.record()):
        warnings.warn(text, RunWarning, stacklevel=2)
    return done


def _warned(record: Mapping[str, Any]) -> List[str]:
    """List the warnings of a run and what went wrong in attempts, each once."""
    texts = [w["message"] for w in record.get("warnings") or [] if not w.get("address")]
    problems = (record.get("outcomes") or {}).get("problems") or []
    groups = Counter((p["outcome"].replace("_", " "), p.get("reason") or "") for p in problems)
    for (outcome, reason), n in groups.items():
        texts.append(f"{n} attempt{'s' if n > 1 else ''} ended without a score: {': '.join(filter(None, (outcome, reason)))}")
    return texts


def rehearse(
    path: PathLike,
    vars: Optional[Mapping[str, Any]] = None,
    *,
    args: Sequence[str] = (),
    progress: Optional[bool] = None,
) -> Dict[str, Any]:
    """Apply a pipeline to tiny synthetic data, and say what the real run would meet.

    Args:
        path: As of apply.
        vars: As of apply.
        args: More flags of ``mleflow rehearse``, such as ``["--timeout=10m"]``.
        progress: As of apply.

    Returns:
        The report as ``mleflow rehearse --json`` prints it: ``run``, ``ready``
        of ``attempts``, ``rows`` (an attempt each, with what it lacked), and
        ``real`` (time in seconds, download and disk in bytes, cost in US
        dollars). It is returned also if some attempts are not ready.

    Raises:
        Error: There is no report: the pipeline is not valid, for example.
        ValueError, TypeError: As of apply.
    """
    pipeline = operand(path, "pipeline")
    printed: List[str] = []
    line = _progress.start(progress)
    try:
        with _vars.flags(vars) as variables:
            command = ["rehearse", pipeline, *variables, *args, "--json"]
            status, stderr = stream(command, printed.append, line.note)
    finally:
        line.close()
    report = json_or_none("\n".join(printed))
    if status not in (0, 1) or not isinstance(report, dict):
        raise Error(command, status, _vars.without_file(parse(stderr), variables), result=report)
    return report
