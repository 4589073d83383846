"""The command mlebench."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import List, NoReturn, Optional, Sequence

import mleflow
from mlebench.data import ensure_leaderboard_exists, prepare_all
from mlebench.grade import grade_csv, grade_jsonl
from mlebench.registry import Registry, registry
from mlebench.utils import get_logger

logger = get_logger(__name__)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mlebench", description="The command of MLE-bench, answered by mleflow.")
    commands = parser.add_subparsers(dest="command", help="command to run")

    prepare = commands.add_parser("prepare", help="download and prepare competitions")
    prepare.add_argument("-c", "--competition-id", help="prepare this competition")
    prepare.add_argument("-a", "--all", action="store_true", help="prepare all competitions")
    prepare.add_argument("--lite", action="store_true", help="prepare those of low complexity")
    prepare.add_argument("-l", "--list", help="prepare those that a file names, one a line")
    prepare.add_argument("--keep-raw", action="store_true", help="keep the raw data")
    _data_dir(prepare)
    prepare.add_argument("--overwrite-checksums", action="store_true", help="refused: mleflow competition lock does it")
    prepare.add_argument("--overwrite-leaderboard", action="store_true", help="refused: mleflow competition lock does it")
    prepare.add_argument("--skip-verification", action="store_true", help="do not compare checksums")

    grade = commands.add_parser("grade", help="grade a list of submissions")
    grade.add_argument("--submission", required=True, help="JSON lines of competition_id and submission_path")
    grade.add_argument("--output-dir", required=True, help="folder for the report")
    _data_dir(grade)

    sample = commands.add_parser("grade-sample", help="grade one submission")
    sample.add_argument("submission", help="CSV file")
    sample.add_argument("competition_id", help="its competition")
    _data_dir(sample)

    dev = commands.add_parser("dev", help="tools for developers")
    tools = dev.add_subparsers(dest="dev_command", help="command to run")
    board = tools.add_parser("download-leaderboard", help="say where leaderboards are")
    board.add_argument("-c", "--competition-id", help="its competition")
    board.add_argument("--all", action="store_true", help="all competitions")
    board.add_argument("--force", action="store_true", help="refused: mleflow competition lock does it")
    parser.set_defaults(prepare=prepare, board=board)
    return parser


def _data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data-dir", default=registry.get_data_dir(), help="folder of the data (default: %(default)s)")


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Run the command; what fails is an exception."""
    args = _parser().parse_args(argv)
    if args.command == "prepare":
        here = registry.set_data_dir(Path(args.data_dir))
        competitions = [here.get_competition(one) for one in _chosen(args, here)]
        prepare_all(
            competitions, args.keep_raw, args.overwrite_checksums, args.overwrite_leaderboard, args.skip_verification
        )
    elif args.command == "grade":
        grade_jsonl(Path(args.submission), Path(args.output_dir), registry.set_data_dir(Path(args.data_dir)))
    elif args.command == "grade-sample":
        competition = registry.set_data_dir(Path(args.data_dir)).get_competition(args.competition_id)
        report = grade_csv(Path(args.submission), competition)
        logger.info("Competition report:")
        logger.info(json.dumps(report.to_dict(), indent=4))
    elif args.command == "dev" and args.dev_command == "download-leaderboard":
        if not args.all and not args.competition_id:
            args.board.error("one of --all and --competition-id is needed")
        for one in registry.list_competition_ids() if args.all else [args.competition_id]:
            ensure_leaderboard_exists(registry.get_competition(one), force=args.force)


def _chosen(args: argparse.Namespace, here: Registry) -> List[str]:
    if args.lite:
        return here.get_lite_competition_ids()
    if args.all:
        return here.list_competition_ids()
    if args.list:
        return Path(args.list).read_text(encoding="utf-8").splitlines()
    if not args.competition_id:
        args.prepare.error("one of --lite, --all, --list and --competition-id is needed")
    return [args.competition_id]


def run() -> NoReturn:
    """The script: what fails is told in one line each, with exit status 1."""
    try:
        main()
    except mleflow.Error as err:
        lines = [str(one) for one in err.diagnostics]
    except KeyError as err:
        lines = [f"the entry has no {err}"]
    except (ValueError, AssertionError, OSError, NotImplementedError) as err:
        lines = [str(err)]
    except KeyboardInterrupt:
        sys.exit(130)
    else:
        sys.exit(0)
    for line in lines:
        print(f"mlebench: {line}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    run()
