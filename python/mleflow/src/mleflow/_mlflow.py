"""Export to MLflow."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Union

from ._logged import Logged, client, logged
from ._run import Run

# MLflow refuses longer values.
_PARAM, _TAG = 6000, 8000


def export_mlflow(
    run: Union[Run, str],
    tracking_uri: Optional[str] = None,
    experiment: Optional[str] = None,
    *,
    artifacts: bool = True,
) -> List[str]:
    """Write the attempts of a run to MLflow, each as a run of its own below one for the whole run.

    Tags, prefixed ``mleflow.``, name run and attempt. An attempt that is there
    already is left alone, and one that an earlier export did not complete is
    written again.

    Args:
        run: A run, or its id.
        tracking_uri: MLflow's address of a database, folder or server, such
            as ``"sqlite:///mlflow.db"``; default MLflow's own setting.
        experiment: Name of the experiment, which is made if it is missing;
            default the name of the pipeline, such as ``"demo.hcl"``.
        artifacts: Whether to store submissions and grading reports, too.

    Returns:
        MLflow's ids of the attempts that were written.

    Raises:
        ImportError: Neither mlflow nor mlflow-skinny is installed.
        Error: The run cannot be read, or a submission is not in the cache any
            more.
    """
    run = run if isinstance(run, Run) else Run(run)
    api = client("mlflow").MlflowClient(tracking_uri=tracking_uri)
    name = experiment or run.pipeline.rpartition("/")[2]
    found = api.get_experiment_by_name(name)
    where = found.experiment_id if found else api.create_experiment(name)
    there = _there(api, where, run.id)
    written = []
    for attempt in logged(run):
        if attempt.key in there:
            continue
        if run.id not in there:
            there[run.id] = _parent(api, where, run)
        written.append(_write(api, where, there[run.id], attempt, artifacts))
    return written


def _there(api: Any, experiment: str, run: str) -> Dict[str, str]:
    """MLflow's ids by key of what an earlier export completed; the rest is deleted."""
    ids: Dict[str, str] = {}
    page = None
    while True:
        entries = api.search_runs([experiment], f"tags.`mleflow.run` = '{run}'", page_token=page)
        for entry in entries:
            if entry.info.status in ("FINISHED", "FAILED"):
                ids[entry.data.tags["mleflow.key"]] = entry.info.run_id
            else:
                api.delete_run(entry.info.run_id)
        page = entries.token
        if not page:
            return ids


def _parent(api: Any, experiment: str, run: Run) -> str:
    tags = {"mleflow.key": run.id, "mleflow.run": run.id, "mleflow.run_name": run.name}
    started = int(run.started.timestamp() * 1000)
    made = api.create_run(experiment, start_time=started, tags=tags, run_name=f"{run.name} {run.id}")
    api.set_terminated(made.info.run_id, "FINISHED", end_time=started)
    return str(made.info.run_id)


def _write(api: Any, experiment: str, parent: str, attempt: Logged, artifacts: bool) -> str:
    entities = client("mlflow.entities")
    started = int(attempt.started.timestamp() * 1000)
    ended = started + int(attempt.metrics.get("wall_seconds", 0) * 1000)
    tags = {f"mleflow.{k}": v[:_TAG] for k, v in attempt.tags.items()}
    tags["mlflow.parentRunId"] = parent
    made = api.create_run(experiment, start_time=started, tags=tags, run_name=attempt.name).info.run_id
    values = [entities.Metric(k, v, ended, 0) for k, v in attempt.metrics.items()]
    for seconds, metrics in attempt.curve:
        values += [entities.Metric(k, v, started + 1000 * seconds, seconds) for k, v in metrics.items()]
    params = [entities.Param(k, v[:_PARAM]) for k, v in attempt.params.items()]
    for first in range(0, max(len(values), 1), 500):  # a batch takes 1,000 entries, 100 parameters among them
        api.log_batch(made, metrics=values[first : first + 500], params=[] if first else params[:100])
    for first in range(100, len(params), 100):
        api.log_batch(made, params=params[first : first + 100])
    with attempt.files(artifacts) as paths:
        for path in paths:
            api.log_artifact(made, str(path))
    api.set_terminated(made, "FAILED" if attempt.failed else "FINISHED", end_time=ended)
    return str(made)
