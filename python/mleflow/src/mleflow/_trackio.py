"""Export to Trackio."""

from __future__ import annotations

import contextlib
import io
from typing import List, Union

from ._logged import client, logged
from ._run import Run


def export_trackio(run: Union[Run, str], project: str = "mleflow") -> List[str]:
    """Write the attempts of a run to Trackio's database on this machine, each as a run, grouped by run.

    ``TRACKIO_DIR`` names the folder of the database; Trackio reads it when it
    is imported. An attempt that is there already is left alone.

    Args:
        run: A run, or its id.
        project: Name of the project.

    Returns:
        Trackio's names of the attempts that were written.

    Raises:
        ImportError: trackio is not installed.
        Error: The run cannot be read.
    """
    attempts = logged(run)
    trackio = client("trackio")
    try:
        there = {entry.name for entry in trackio.Api().runs(project)}
    except ValueError:  # no such project yet
        there = set()
    written = []
    for attempt in attempts:
        name = f"{attempt.name} {attempt.key}"
        if name in there:
            continue
        config = {**attempt.params, **{f"mleflow.{k}": v for k, v in attempt.tags.items()}}
        with contextlib.redirect_stdout(io.StringIO()):
            trackio.init(
                project, name=name, group=attempt.run, config=config, embed=False, auto_log_gpu=False, auto_log_cpu=False
            )
            for seconds, metrics in attempt.curve:
                trackio.log({"seconds": seconds, **metrics})
            trackio.log(attempt.metrics)
            trackio.finish()
        written.append(name)
    return written
