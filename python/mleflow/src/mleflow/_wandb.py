"""Export to Weights & Biases."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, List, Literal, Union

from ._binary import PathLike
from ._logged import Logged, client, logged
from ._run import Run


def export_wandb(
    run: Union[Run, str],
    dir: PathLike = ".",
    mode: Literal["offline", "online"] = "offline",
    project: str = "mleflow",
    *,
    artifacts: bool = True,
) -> List[str]:
    """Write the attempts of a run for Weights & Biases, each as a run of its own, grouped by run.

    Offline runs are folders below ``dir/wandb``, which ``wandb sync`` uploads.
    An attempt that is there already is left alone. Ids are derived from the
    attempt, so that uploading from two folders does not double it either.

    Args:
        run: A run, or its id.
        dir: Folder to write to, which is made if it is missing.
        mode: "offline" needs neither network nor account; "online" uploads
            at once.
        project: Name of the project.
        artifacts: Whether to store submissions and grading reports, too.

    Returns:
        Ids of the attempts that were written.

    Raises:
        ImportError: wandb is not installed.
        ValueError: The mode is neither.
        Error: The run cannot be read, or a submission is not in the cache any
            more.
    """
    if mode not in ("offline", "online"):
        raise ValueError(f'mode is {mode!r}, not "offline" or "online"')
    attempts = logged(run)
    wandb = client("wandb")
    folder = Path(os.path.abspath(os.fspath(dir)), "wandb")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for attempt in attempts:
        name = hashlib.sha256(attempt.key.encode()).hexdigest()[:16]
        if any(folder.glob(f"*run-*-{name}")):
            continue
        with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as made:
            _write(wandb, attempt, name, made, mode, project, artifacts)
            # Complete or not there at all.
            for path in Path(made, "wandb").glob(f"*run-*-{name}"):
                shutil.move(os.fspath(path), os.fspath(folder / path.name))
        written.append(name)
    return written


def _write(wandb: Any, attempt: Logged, name: str, folder: str, mode: str, project: str, artifacts: bool) -> None:
    settings = wandb.Settings(
        console="off", silent=True, disable_git=True, disable_code=True, save_code=False, x_disable_stats=True,
        x_disable_machine_info=True, x_disable_meta=True, x_save_requirements=False,
    )
    run = wandb.init(
        id=name, name=attempt.name, project=project, group=attempt.run, job_type="attempt", dir=folder, mode=mode,
        config={**attempt.params, "mleflow": attempt.tags}, tags=_tags(attempt), resume="allow", reinit="create_new",
        settings=settings,
    )  # fmt: skip
    code = 1
    try:
        run.define_metric("snapshot_*", step_metric="seconds")
        for seconds, metrics in attempt.curve:
            run.log({"seconds": seconds, **metrics})
        run.log(attempt.metrics)
        with attempt.files(artifacts) as paths:
            for path in paths:
                kept = shutil.copy(path, run.dir)
                run.save(kept, base_path=run.dir, policy="now")
            code = 1 if attempt.failed else 0
    finally:
        run.finish(exit_code=code)


def _tags(attempt: Logged) -> List[str]:
    """Short tags to filter by; wandb refuses those of more than 64 characters."""
    tags = [f"isolation: {attempt.tags['isolation']}"] if "isolation" in attempt.tags else []
    if attempt.tags.get("untrusted") == "true":
        tags.append("untrusted")
    if attempt.tags["rehearsal"] == "true":
        tags.append("rehearsal")
    return [tag[:64] for tag in tags]
