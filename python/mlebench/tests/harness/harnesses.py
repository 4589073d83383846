"""Public harnesses whose grading code runs, unedited, against this mlebench.

    python -m harness.harnesses fetch DIR   gets them
    python -m harness.harnesses run NAME DIR DATA CASES ANSWERS   grades with one of them

Nothing of theirs is in this repository.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Tuple
from unittest import mock

from .standins import Container, load, skip_init, stand_in

# What a harness says of a submission: "score"; "score or 0" where it has no
# other word for none; "valid" of its report; "validated" by its validator.
Said = Dict[str, Any]
Grade = Callable[[Path, str], Said]
NO_SCORE: Said = {"score": None, "valid": False}


@dataclass(frozen=True)
class Harness:
    """A harness.

    Attributes:
        source: A repository, and pin a commit; or a distribution, and its
            version.
        slow: Whether it starts a Python for each submission.
    """

    name: str
    source: str
    pin: str
    file: str
    entry: str
    needs: Tuple[str, ...]
    grader: Callable[[Path, Path], Grade]
    slow: bool = False


def _of_report(report: Any) -> Said:
    return {"score": report["score"], "valid": report["valid_submission"]}


def _aira_dojo(file: Path, data: Path) -> Grade:
    import pandas

    unreadable = (pandas.errors.ParserError, pandas.errors.EmptyDataError, UnicodeDecodeError)
    module = load(file)

    def grade(path: Path, competition: str) -> Said:
        with tempfile.TemporaryDirectory() as out:
            try:
                score, report = module.evaluate_submission(path, data, competition, Path(out))
            except unreadable:  # read_csv fails here with the reference, too
                return NO_SCORE
        assert score == report["score"] or score != score, (score, report)
        return _of_report(report)

    return grade


def _rd_agent(file: Path, data: Path) -> Grade:
    stand_in("rdagent", "rdagent.app", "rdagent.app.data_science", "rdagent.app.data_science.conf")
    stand_in("rdagent.components", "rdagent.components.coder", "rdagent.components.coder.data_science")
    stand_in("rdagent.components.coder.data_science.conf", "rdagent.core", "rdagent.core.experiment")
    test = load(file).MLETestEval()
    extract_json = load(file.parents[2] / "log" / "utils" / "__init__.py", "rdagent_log_utils").extract_json

    def grade(path: Path, competition: str) -> Said:
        container = Container({"/mle/data": data})
        shutil.copy(path, container.workspace_path / "submission.csv")
        report = extract_json(test.eval(competition, container))
        _, status = test.valid(competition, container)
        shutil.rmtree(container.workspace_path)
        return {**_of_report(report), "validated": status == 0}

    return grade


def _post(app: Any, path: Path, **headers: str) -> Any:
    with path.open("rb") as f:
        reply = app.test_client().post("/validate", data={"file": (f, "submission.csv")}, headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json


def _mlevolve(file: Path, data: Path) -> Grade:
    stand_in("config", load_cfg=lambda: SimpleNamespace(dataset_dir=str(data)))
    app = load(file).app
    return lambda path, competition: {"validated": _post(app, path, **{"exp-id": competition})["is_valid"]}


def _ml_master(file: Path, data: Path) -> Grade:
    stand_in("utils", "utils.config_mcts", load_cfg=lambda: SimpleNamespace(dataset_dir=str(data)))
    app = load(file).app

    def grade(path: Path, competition: str) -> Said:
        reply = _post(app, path, **{"exp-id": competition})
        assert _message(reply)["validated"] == reply["is_valid"], reply
        return {"validated": reply["is_valid"]}

    return grade


def _message(reply: Any) -> Said:
    assert reply["result"].startswith("Submission "), reply
    return {"validated": reply["result"] == "Submission is valid."}


def _mle_bench(file: Path, data: Path) -> Grade:
    module = load(file)
    module.PRIVATE_DATA_DIR = str(data)  # the mount of its container

    def grade(path: Path, competition: str) -> Said:
        module.COMPETITION_ID = competition  # a variable of its container
        return _message(_post(module.app, path))

    return grade


def _mle_bench_hpc(file: Path, data: Path) -> Grade:
    module = load(file)

    def grade(path: Path, competition: str) -> Said:
        args = [str(file), "--competition-id", competition, "--data-dir", str(data)]
        with mock.patch.object(sys, "argv", args), mock.patch.object(module.app, "run"):
            module.main()
        return _message(_post(module.app, path))

    return grade


def _kaggle_agents(file: Path, data: Path) -> Grade:
    stand_in("kaggle_agents", "kaggle_agents.core", "kaggle_agents.core.config", "kaggle_agents.core.state")
    stand_in("kaggle_agents.utils", "kaggle_agents.utils.contamination", "kaggle_agents.utils.submission_artifacts")
    stand_in("kaggle_agents.utils.telemetry", "kaggle_agents.mlebench", "kaggle_agents.mlebench.data_adapter")
    runner = load(file, "kaggle_agents.mlebench.runner").MLEBenchRunner()
    return lambda path, competition: _of_report(runner._grade_submission(competition, path))


def _ai_ml_engineer(file: Path, data: Path) -> Grade:
    grader = load(file).MLEBenchGrader()

    def grade(path: Path, competition: str) -> Said:
        result = grader.grade_submission(str(path), competition)
        assert result.error is None, result
        return {"score or 0": result.score}

    return grade


def _mle_agent(file: Path, data: Path) -> Grade:
    module = load(file)
    return lambda path, competition: _of_report(module.grade_sample(path, competition).to_dict())


def _dslighting(file: Path, data: Path) -> Grade:
    import mlebench  # noqa: F401 - else the harness tries one of its own

    root = file.parents[2]
    for name in ("dslighting", "dslighting.benchmark", "dsat", "dsat.models"):
        skip_init(name, root / name.replace(".", "/"))
    benchmark = load(file, "dslighting.benchmark.mle_lite").MLELiteBenchmark(competitions=[], data_dir=data)
    return lambda path, competition: {"score": benchmark.grade_submission(competition, path)}


def _inspect_evals(file: Path, data: Path) -> Grade:
    sys.path.insert(0, str(file.parents[2]))
    stand_in("inspect_evals_utils", "inspect_evals_utils.cache", INSPECT_EVALS_CACHE_PATH=data)
    stand_in("inspect_evals.utils")  # data sets of other evaluations
    return _inspect(file, data)


def _inspect(file: Path, data: Path) -> Grade:
    os.chdir(file.parent)
    module = load(file)
    score = module.mle_bench_scorer()

    def grade(path: Path, competition: str) -> Said:
        container = Container({"/private/data": data, "/home/submission/submission.csv": path})
        with mock.patch.object(module, "sandbox", lambda: container):
            result = asyncio.run(score(SimpleNamespace(sample_id=competition), None))
        shutil.rmtree(container.workspace_path)
        report = json.loads(result.explanation)
        assert result.value["any_medal"] == report["any_medal"]
        return {"score": report["score"], "valid": result.value["valid_submission"]}

    return grade


_GITHUB = "https://github.com/"
HARNESSES = [
    Harness(
        "aira-dojo",
        _GITHUB + "facebookresearch/aira-dojo",
        "c795d8649d30b77fa9b8c011b978bba7127507ad",
        "src/dojo/tasks/mlebench/evaluate.py",
        "evaluate_submission: grader(table, answers), rank_score",
        ("pandas",),
        _aira_dojo,
    ),
    Harness(
        "RD-Agent",
        _GITHUB + "microsoft/RD-Agent",
        "471eb30d1ec03f35631c532c58a52ce75d684037",
        "rdagent/scenarios/data_science/test_eval.py",
        "MLETestEval.eval and .valid: mlebench grade-sample 2>&1, extract_json; validate_submission",
        (),
        _rd_agent,
        slow=True,
    ),
    Harness(
        "inspect_evals",
        "inspect-evals",
        "0.28.0",
        "inspect_evals/mle_bench/mle_bench.py",
        "mle_bench_scorer: grade_csv in a sandbox",
        ("inspect_ai",),
        _inspect_evals,
        slow=True,
    ),
    Harness(
        "mlebench-inspect",
        _GITHUB + "samm393/mlebench-inspect",
        "dcc70a8c5feec9b2cb206de4c178be6ff08bc5a7",
        "mlebench.py",
        "mle_bench_scorer: grade_csv in a sandbox",
        ("inspect_ai", "docker"),
        _inspect,
        slow=True,
    ),
    Harness(
        "dslighting",
        _GITHUB + "usail-hkust/dslighting",
        "d7b360545191900b5ab04eed64c3cf723fece8c2",
        "dslighting/benchmark/mle_lite.py",
        "MLELiteBenchmark.grade_submission: grade_csv",
        ("pandas", "pydantic", "yaml"),
        _dslighting,
    ),
    Harness(
        "MLEvolve",
        _GITHUB + "InternScience/MLEvolve",
        "7d8403c899c40f01941c0429f1c4ef51e82ae41c",
        "engine/validation/format_server.py",
        "POST /validate: validate_submission",
        ("flask",),
        _mlevolve,
    ),
    Harness(
        "ML-Master",  # its own repository has no code in the newest snapshots; this copy has
        _GITHUB + "leonou2010/ML-Master_submit",
        "af7ffc1ee713c72588046e3c67d168ac3afc63e0",
        "grading_server.py",
        "POST /validate: validate_submission",
        ("flask",),
        _ml_master,
    ),
    Harness(
        "mle-bench",
        _GITHUB + "openai/mle-bench",
        "783b15af77404fbaffe7255b0c4a934b46153389",
        "environment/grading_server.py",
        "POST /validate: validate_submission",
        ("flask",),
        _mle_bench,
    ),
    Harness(
        "mle-bench-hpc",
        _GITHUB + "rm-3284/mle-bench-hpc",
        "e18a79ce1bf72415e29df66bf23d013feb3ad76e",
        "environment/run_grading_server.py",
        "main and POST /validate: validate_submission",
        ("flask",),
        _mle_bench_hpc,
    ),
    Harness(
        "kaggle-agents",
        _GITHUB + "gustavogomespl/kaggle-agents",
        "72a8859ddc86601387a58cf5b9c78000e3925191",
        "kaggle_agents/mlebench/runner.py",
        "MLEBenchRunner._grade_submission: mlebench grade-sample, JSON from first { to last }",
        ("rich",),
        _kaggle_agents,
        slow=True,
    ),
    Harness(
        "MLE-agent",
        _GITHUB + "MLSysOps/MLE-agent",
        "7e58438a2d523e1c04069b6dbcb52134e2e7fae0",
        "exp/mlebench_api.py",
        "grade_sample: grade_csv",
        (),
        _mle_agent,
    ),
    Harness(
        "AI-ML-Engineer-Assignment",
        _GITHUB + "SidhaarthShree07/AI-ML-Engineer-Assignment",
        "8495559b8a259618eec878e2ec0d2814783f49a2",
        "src/evaluation/mlebench_grader.py",
        "MLEBenchGrader.grade_submission: grade_csv",
        (),
        _ai_ml_engineer,
    ),
]


def fetch(folder: Path) -> None:
    """Get the harnesses into a folder: repositories by git, at their commits, and distributions by pip."""
    for one in HARNESSES:
        to = folder / one.name
        if (to / one.file).is_file():
            continue
        to.mkdir(parents=True, exist_ok=True)
        if one.source.startswith("https:"):
            git = ("git", "-C", str(to))
            _run("git", "init", "-q", str(to))
            _run(*git, "remote", "add", "origin", one.source)
            _run(*git, "sparse-checkout", "set", "--no-cone", "*.py", "*.txt")
            _run(*git, "fetch", "-q", "--depth=1", "--filter=blob:none", "origin", one.pin)
            _run(*git, "checkout", "-q", one.pin)
        else:
            _run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", f"--dest={to}", f"{one.source}=={one.pin}")
            zipfile.ZipFile(next(to.glob("*.whl"))).extractall(to)
        print(to / one.file)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def grade_all(name: str, folder: Path, data: Path, cases: Path, answers: Path) -> None:
    """Grade the pairs of competition and path in the file cases, and write a list of what is said."""
    one = next(one for one in HARNESSES if one.name == name)
    grade = one.grader(folder / one.name / one.file, data)
    said: List[Said] = [grade(Path(path), competition) for competition, path in json.loads(cases.read_text())]
    answers.write_text(json.dumps(said))


def main(verb: str, *words: str) -> None:
    if verb == "fetch":
        fetch(Path(words[0]).resolve())
    else:
        grade_all(words[0], *(Path(word).resolve() for word in words[1:]))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 7):
        sys.exit(__doc__)
    main(*sys.argv[1:])
