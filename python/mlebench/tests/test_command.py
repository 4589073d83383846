"""The command as harnesses call it: a child process, whose two streams they join."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

FIELDS = [
    "competition_id", "score", "gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold", "any_medal",
    "gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists", "valid_submission",
    "is_lower_better", "created_at", "submission_path",
]  # fmt: skip


def run(*words: object, **env: str) -> "subprocess.CompletedProcess[str]":
    command = Path(sys.executable).with_name("mlebench")
    return subprocess.run([str(command), *map(str, words)], capture_output=True, text=True, env={**os.environ, **env})


def cut(done: "subprocess.CompletedProcess[str]") -> Dict[str, Any]:
    """From the first brace to the last of both streams."""
    text = done.stdout + done.stderr
    report: Dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return report


def sample(data: Path) -> Path:
    return data / "demo-digits/prepared/public/sample_submission.csv"


def test_grade_sample(data: Path) -> None:
    done = run("grade-sample", sample(data), "demo-digits", "--data-dir", data)
    assert done.returncode == 0 and done.stdout == "" and "Competition report:" in done.stderr
    report = cut(done)
    assert list(report) == FIELDS
    assert report["score"] == 0.075 and report["submission_path"] == str(sample(data))


@pytest.mark.parametrize(
    ("name", "text", "exists"),
    [
        ("wrong.csv", "{id},{digit}\n1,2\n", True),  # braces must not move the cut
        ("empty.csv", "", True),
        ("none.csv", None, False),
        ("table.txt", "id,digit\n1,2\n", False),
    ],
)
def test_no_score_is_no_failure(data: Path, tmp_path: Path, name: str, text: str, exists: bool) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    done = run("grade-sample", tmp_path / name, "demo-digits", "--data-dir", data)
    report = cut(done)
    assert done.returncode == 0 and "nvalid submission" in done.stderr
    assert (report["score"], report["submission_exists"], report["valid_submission"]) == (None, exists, False)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 0, ""),
        (["dev"], 0, ""),
        (["grade-sample"], 2, "submission, competition_id"),
        (["grade"], 2, "--submission, --output-dir"),
        (["prepare"], 2, "--lite, --all, --list"),
        (["dev", "download-leaderboard"], 2, "--all and --competition-id"),
        (["nonsense"], 2, "nonsense"),
        (["grade-sample", "x.csv", "leaf-classificatio"], 1, "leaf-classification"),
        (["grade-sample", "x.csv", "-v"], 2, "competition_id"),
        (["grade-sample", "x.csv", "leaf-classification", "--data-dir", "nowhere"], 1, "mlebench prepare -c leaf-classification"),
        (["prepare", "-c", "nosuch"], 1, "nosuch"),
        (["prepare", "-l", "nosuch.txt"], 1, "nosuch.txt"),
        (["prepare", "-c", "demo-digits", "--overwrite-checksums"], 1, "mleflow competition lock"),
        (["grade", "--submission", "nosuch.jsonl", "--output-dir", "out"], 1, "nosuch.jsonl"),
        (["dev", "download-leaderboard", "-c", "demo-digits"], 0, ""),
        (["dev", "download-leaderboard", "-c", "demo-digits", "--force"], 1, "--leaderboard"),
    ],
)
def test_exit_statuses(home: Path, words: "list[str]", status: int, said: str) -> None:
    done = run(*words)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr


def test_grade(data: Path, tmp_path: Path) -> None:
    listed = [
        {"competition_id": "demo-digits", "submission_path": str(sample(data))},
        {"competition_id": "demo-digits", "submission_path": "none.csv"},
    ]
    path, out = tmp_path / "list.jsonl", tmp_path / "deep" / "out"
    path.write_text("# a comment\n\n" + "".join(json.dumps(one) + "\n" for one in listed))
    for n in (1, 2):  # two of one second are two files
        done = run("grade", "--submission", path, "--output-dir", out, "--data-dir", data)
        assert done.returncode == 0 and len(list(out.glob("*_grading_report*.json"))) == n
    report = json.loads(next(out.iterdir()).read_text())
    totals = {name: value for name, value in report.items() if name.startswith("total_")}
    assert cut(done) == totals
    assert list(totals.values()) == [2, 1, 1, 0, 0, 0, 0, 0]
    assert [one["score"] for one in report["competition_reports"]] == [0.075, None]
    assert all(list(one) == FIELDS for one in report["competition_reports"])

    path.write_text('{"competition_id": "demo-digits"}\n')
    done = run("grade", "--submission", path, "--output-dir", out, "--data-dir", data)
    assert done.returncode == 1 and "submission_path" in done.stderr


def test_prepare_says_what_failed(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("demo-digits\nleaf-classification\n")
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    env = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    done = run("prepare", "-l", tmp_path / "list.txt", "--data-dir", tmp_path / "data", **env)
    assert done.returncode == 1 and "mlebench: leaf-classification: " in done.stderr
    assert (tmp_path / "data/demo-digits/prepared/private/test.csv").is_file()


def test_without_the_program(home: Path) -> None:
    done = run("grade-sample", "x.csv", "demo-digits", MLEFLOW_BINARY="/nowhere/mleflow")
    assert done.returncode == 1 and "MLEFLOW_BINARY" in done.stderr and "Traceback" not in done.stderr
