from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mleflow


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (prepared,) = mleflow.prepare("demo-digits", data_dir=folder)
    assert prepared["competition"] == "demo-digits" and prepared["verified"]
    assert Path(prepared["path"], "public", "train.csv").is_file()
    return folder


def test_tables_and_paths(data: Path) -> None:
    pandas, polars, pyarrow = (pytest.importorskip(m) for m in ("pandas", "polars", "pyarrow"))
    path = data / "demo-digits/prepared/public/sample_submission.csv"
    table = pandas.read_csv(path)
    many: list[Any] = [path, str(path), table, polars.read_csv(path)]
    many += [pyarrow.Table.from_pandas(table), table.to_dict("records")]
    reports = [mleflow.grade(one, "demo-digits", data) for one in many]
    assert {r["exact_score"] for r in reports} == {0.075}
    assert {r["outcome"] for r in reports} == {"scored"}


def test_same_score_as_in_the_run(data: Path, demo: mleflow.Run) -> None:
    for attempt in demo.attempts():
        if attempt.competition == "demo-digits":
            report = mleflow.grade(attempt.submission(), "demo-digits", data)
            assert report["exact_score"] == attempt.score


def test_no_score_is_no_exception(data: Path) -> None:
    report = mleflow.grade([{"id": 1, "wrong": 2}], "demo-digits", data)
    assert report["outcome"] == "invalid" and report["reason"] and report["score"] is None
    assert mleflow.grade("missing.csv", "demo-digits", data)["outcome"] == "missing"


def test_errors(data: Path) -> None:
    with pytest.raises(mleflow.Error, match="nosuch"):
        mleflow.grade([{"id": 1}], "nosuch", data)
    with pytest.raises(mleflow.Error, match="leaf-classification"):
        mleflow.grade([{"id": 1}], "leaf-classification", data)
    tables: list[Any] = [3, [], None]
    for table in tables:
        with pytest.raises(TypeError):
            mleflow.grade(table, "demo-digits", data)
    with pytest.raises(ValueError):
        mleflow.prepare()


def test_prepare_names_what_failed(data: Path) -> None:
    with pytest.raises(mleflow.Error) as caught:
        mleflow.prepare("demo-digits", "leaf-classification", data_dir=data, args=["--offline"])
    assert [d.summary.split(":")[0] for d in caught.value.diagnostics] == ["leaf-classification"]
    assert len(caught.value.result["competitions"]) == 2


def test_rehearsal(tmp_path: Path) -> None:
    (prepared,) = mleflow.prepare("leaf-classification", data_dir=tmp_path, rehearsal=True)
    sample = Path(prepared["path"], "public", "sample_submission.csv")
    report = mleflow.grade(sample, "leaf-classification", tmp_path / "rehearsal")
    assert report["outcome"] == "scored" and report["gold_threshold"] is None


def test_version(tmp_path: Path) -> None:
    (prepared,) = mleflow.prepare("random-acts-of-pizza", data_dir=tmp_path, rehearsal=True, version="v2")
    sample = Path(prepared["path"], "public", "sampleSubmission.csv")
    report = mleflow.grade(sample, "random-acts-of-pizza", tmp_path / "rehearsal", version="v2")
    assert report["competition_version"] == "v2"
    with pytest.raises(mleflow.Error, match="not version v1m"):
        mleflow.grade(sample, "random-acts-of-pizza", tmp_path / "rehearsal", version="v1m")
