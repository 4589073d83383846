"""Export of a board's row as evaluation results of a model on the Hugging Face Hub."""

from __future__ import annotations

import math
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ._binary import PathLike
from ._logged import client
from ._run import Run

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+\Z", re.ASCII)
_TASK = re.compile(r"[\w.-]+\Z", re.ASCII)
_SHOWN = "any_medal_percentage"


def export_eval_results(
    run: Union[Run, str],
    dataset: str,
    dir: PathLike = ".",
    *,
    agent: Optional[str] = None,
    board: Optional[str] = None,
    task: Optional[str] = None,
    revision: Optional[str] = None,
    source: Optional[str] = None,
    source_name: Optional[str] = None,
    source_user: Optional[str] = None,
) -> List[str]:
    """Write an agent's figures on a board as ``.eval_results/*.yaml``, which the Hub reads in a model's repository.

    A board of a benchmark gives one result, the figure by its rule. Another
    gives any medal in percent for each group of competitions. The notes say
    what the figure is, over how many competitions and seeds, its interval,
    and the conditions of the attempts.

    Args:
        run: A run, or its id.
        dataset: Dataset on the Hub that is the benchmark, such as
            ``"lab/my-benchmark"``.
        dir: Folder of the model's repository.
        agent: Name on the board; may be missing if there is one.
        board: Address of the aggregate step, as of Run.board.
        task: Task of the dataset's ``eval.yaml``; default the name of the
            benchmark, or of the group of competitions.
        revision: Commit of the dataset, 40 hexadecimal digits.
        source: Address of the evidence, such as a page or a bundle.
        source_name: What it is called there.
        source_user: User or organization that it is attributed to.

    Returns:
        The path that was written.

    Raises:
        ImportError: huggingface_hub is not installed.
        LookupError: There is no such board or agent, or several.
        ValueError: The board is that of a rehearsal, the agent has no figure,
            or an argument is not what the Hub takes.
        Error: The run cannot be read.
    """
    _check(dataset, task, revision, source, source_name or source_user)
    run = run if isinstance(run, Run) else Run(run)
    record = run.board(board).record
    if record.get("rehearsal"):
        raise ValueError("the board is of a rehearsal, whose scores are no results")
    hub = client("huggingface_hub")
    entries = [
        hub.EvalResultEntry(
            dataset_id=dataset, task_id=task or name, value=value, dataset_revision=revision,
            date=run.started.isoformat(timespec="seconds").replace("+00:00", "Z"), source_url=source,
            source_name=source_name, source_user=source_user, notes=notes,
        )
        for name, value, notes in _results(record, _agent(record, agent))
    ]  # fmt: skip
    if task and len(entries) > 1:
        raise ValueError("the board has several groups of competitions, which cannot all be one task")
    text = client("yaml").safe_dump(hub.eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    return [_write(Path(os.path.abspath(os.fspath(dir))), dataset, entries[0].task_id, text)]


def _check(dataset: str, task: Optional[str], revision: Optional[str], source: Optional[str], named: Optional[str]) -> None:
    if not _REPOSITORY.match(dataset) or ".." in dataset:
        raise ValueError(f"dataset {dataset!r} is not the id of a dataset on the Hub, such as lab/my-benchmark")
    if task is not None and not _TASK.match(task):
        raise ValueError(f"task {task!r} has other characters than letters, digits and . _ -")
    if revision is not None and not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise ValueError(f"revision {revision!r} is not a commit of 40 hexadecimal digits")
    if source is not None and not re.match(r"https?://[^\s/]+", source):
        raise ValueError(f"source {source!r} is not an address that begins with https://")
    if named and source is None:
        raise ValueError("source_name and source_user need source, an address")


def _agent(record: Mapping[str, Any], name: Optional[str]) -> Mapping[str, Any]:
    agents: Dict[str, Mapping[str, Any]] = {str(a["name"]): a for a in record["agents"]}
    if name is None and len(agents) == 1:
        (name,) = agents
    if name is None or name not in agents:
        what = "several agents, name one" if name is None else f"no agent {name!r}"
        raise LookupError(f"the board has {what}: {', '.join(sorted(agents))}")
    return agents[name]


def _results(record: Mapping[str, Any], agent: Mapping[str, Any]) -> List[Tuple[str, float, str]]:
    """The task, value and notes of each result."""
    benchmark = record.get("benchmark")
    if benchmark:
        figure = agent.get("benchmark_figure")
        if not figure:
            raise ValueError(f"{agent['name']} has no figure by the rule {benchmark['aggregate']} of {benchmark['name']}")
        notes = _notes(benchmark["aggregate"], figure.get("interval_competitions"), agent["overall"], agent)
        return [(benchmark["name"], _finite(figure["value"]), notes)]
    groups = {g["name"]: g for g in [agent["overall"], *(agent.get("groups") or [])] if _SHOWN in (g.get("percentages") or {})}
    if not groups:
        raise ValueError(f"{agent['name']} has no share of medals; a benchmark block gives boards without them a rule")
    return [(name, _finite(g["percentages"][_SHOWN]["mean"]), _notes("any medal, %", None, g, agent)) for name, g in groups.items()]


def _notes(rule: str, interval: Optional[Dict[str, Any]], group: Mapping[str, Any], agent: Mapping[str, Any]) -> str:
    parts = [f"{agent['name']}: {rule} over {len(group.get('competitions') or [])} competitions, {group.get('seeds')} seeds"]
    if interval:
        parts.append(f"95 % interval {_round(interval['lower'])} to {_round(interval['upper'])}")
    if group.get("untrusted"):
        parts.append("untrusted: not isolated")
    parts.append(str(agent.get("class") or "conditions unknown"))
    return "; ".join(" ".join(part.split()) for part in parts)


def _round(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:.2f}"


def _finite(value: Any) -> float:
    if isinstance(value, str) or not math.isfinite(value):
        raise ValueError(f"the figure is {value}, which the Hub does not take")
    return float(value)


def _write(repository: Path, dataset: str, task: str, text: str) -> str:
    folder = repository / ".eval_results"
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]", "_", f"{dataset.split('/')[1]}-{task}", flags=re.ASCII)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix=".export-", delete=False) as made:
        made.write(text)
    os.chmod(made.name, 0o644)
    os.replace(made.name, folder / f"{name}.yaml")  # whole or not there at all
    return os.fspath(folder / f"{name}.yaml")
