"""The command ``python -m mleflow``: exports to viewers whose clients are Python packages."""

from __future__ import annotations

import argparse
import sys
from typing import Callable, Dict, List, Optional, Sequence

from ._errors import Error, NotInstalled
from ._eval_results import export_eval_results
from ._mlflow import export_mlflow
from ._trackio import export_trackio
from ._wandb import export_wandb

_EXPORTS: Dict[str, Callable[[argparse.Namespace], List[str]]] = {
    "mlflow": lambda a: export_mlflow(a.run, a.tracking_uri, a.experiment, artifacts=a.artifacts),
    "wandb": lambda a: export_wandb(a.run, a.dir, a.mode, a.project, artifacts=a.artifacts),
    "trackio": lambda a: export_trackio(a.run, a.project),
    "eval-results": lambda a: export_eval_results(
        a.run, a.dataset, a.dir, agent=a.agent, board=a.board, task=a.task, revision=a.revision, source=a.source
    ),
}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command.

    Returns:
        The exit status: 2 if a package or the run is missing, and the
        program's if it failed.
    """
    args = _parser().parse_args(argv)
    try:
        written = _EXPORTS[args.viewer](args)
    except (ImportError, LookupError, NotInstalled, ValueError) as err:
        print(f"Error: {err}", file=sys.stderr)
        return 2
    except Error as err:
        print("\n".join(f"Error: {d}" for d in err.diagnostics), file=sys.stderr)
        return err.exit_status if err.exit_status > 0 else 1
    if args.viewer == "eval-results":
        print(*written, sep="\n")
        return 0
    print(f"{len(written)} attempt{'' if len(written) == 1 else 's'} written")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mleflow", allow_abbrev=False)
    verbs = parser.add_subparsers(required=True, metavar="export")
    export = verbs.add_parser("export", help="write the attempts of a run to a viewer of experiments")
    viewers = export.add_subparsers(dest="viewer", required=True)
    for name, where in (("mlflow", "MLflow"), ("wandb", "Weights & Biases"), ("trackio", "Trackio")):
        viewer = viewers.add_parser(name, help=f"to {where}; attempts that are there already are left alone")
        viewer.add_argument("run", nargs="?", default="latest", metavar="RUN", help="id or name (default: latest)")
        if name == "mlflow":
            viewer.add_argument("--tracking-uri", metavar="URI", help="such as sqlite:///mlflow.db")
            viewer.add_argument("--experiment", metavar="NAME", help="default: the pipeline's file name")
        else:
            viewer.add_argument("--project", default="mleflow", metavar="NAME", help="default: mleflow")
        if name == "wandb":
            viewer.add_argument("--dir", default=".", help="folder to write to (default: this one)")
            viewer.add_argument("--mode", default="offline", choices=["offline", "online"], help="default: offline")
        if name != "trackio":
            viewer.add_argument(
                "--no-artifacts", dest="artifacts", action="store_false", help="without submissions and reports"
            )
    hub = viewers.add_parser("eval-results", help="an agent's figures as .eval_results/*.yaml of a model on the Hub")
    hub.add_argument("run", nargs="?", default="latest", metavar="RUN", help="id or name (default: latest)")
    hub.add_argument("--dataset", required=True, metavar="ID", help="the benchmark on the Hub, such as lab/my-benchmark")
    hub.add_argument("--dir", default=".", help="folder of the model's repository (default: this one)")
    for name, metavar, text in (
        ("agent", "NAME", "needed if the board has several"),
        ("board", "STEP", "needed if the run has several boards"),
        ("task", "ID", "default: the name of the benchmark, or of the group of competitions"),
        ("revision", "COMMIT", "that of the dataset"),
        ("source", "URL", "the evidence"),
    ):
        hub.add_argument(f"--{name}", metavar=metavar, help=text)
    return parser


if __name__ == "__main__":
    sys.exit(main())
