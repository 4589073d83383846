"""Metrics and tools of graders, with values by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlebench import metrics
from mlebench.competitions import utils
from mlebench.grade_helpers import InvalidSubmissionError


def test_average_precision() -> None:
    # By hand: hits at places 1 and 3 of 3, two labels.
    assert metrics.average_precision_at_k({"a", "b"}, ["a", "x", "b"], 3) == (1 + 2 / 3) / 2
    assert metrics.average_precision_at_k({"a", "b"}, ["a", "a", "b"], 2) == 0.5  # a repeated one does not count
    assert metrics.average_precision_at_k(set(), ["a"], 3) == 0.0
    assert metrics.mean_average_precision_at_k([{"a"}, {"b"}], [["a"], ["x", "b"]], 5) == 0.75


def test_dice() -> None:
    one, two = np.array([[1, 1], [0, 0]]), np.array([[1, 0], [1, 0]])
    assert metrics.dice_coefficient(one, two) == 0.5
    assert np.isnan(metrics.dice_coefficient(one * 0, two * 0))
    assert metrics.dice_coefficient(one * 0, two * 0, both_empty_value=1) == 1
    with pytest.raises(AssertionError):
        metrics.dice_coefficient(one, two[:1])


def test_run_lengths() -> None:
    # 3 rows, 2 columns, down the columns: pixels 2 and 3, and 6.
    mask = utils.rle_decode("2 2 6 1", 3, 2)
    assert mask.tolist() == [[False, False], [True, False], [True, True]]
    assert utils.rle_encode(mask) == [2, 2, 6, 1]
    assert not utils.rle_decode(" ", 3, 2).any() and utils.rle_encode(mask & False) == []
    noise = np.random.default_rng(0).random((17, 23)) < 0.5
    text = " ".join(map(str, utils.rle_encode(noise)))
    assert (utils.rles_to_masks([text], [17], [23])[0] == noise).all()
    for wrong in ("3 1 1 1", "0 1", "1 3 2 1", "1 0"):
        with pytest.raises(AssertionError):
            utils.rle_decode(wrong, 3, 2)


def test_one_hot() -> None:
    table = pd.DataFrame({"id": [2, 1], "y": ["b", "a"]})
    hot = utils.df_to_one_hot(table, "id", "y", ["a", "b"])
    assert hot.to_dict("list") == {"id": [2, 1], "a": [0, 1], "b": [1, 0]}
    guess = pd.DataFrame({"b": [0.0, 1.0], "id": [1, 2], "a": [0.0, 3.0], "more": [0, 0]})
    inputs = utils.one_hot_dfs_to_log_loss_inputs(guess, hot)
    assert inputs["y_true"].tolist() == [[1, 0], [0, 1]]
    np.testing.assert_allclose(inputs["y_pred"][0], [0.5, 0.5])
    np.testing.assert_allclose(inputs["y_pred"].sum(axis=1), 1)
    raw = utils.one_hot_dfs_to_log_loss_inputs(guess, hot, apply_softmax=False)["y_pred"]
    assert raw.tolist() == [[0.0, 0.0], [3.0, 1.0]]
    assert utils.one_hot_dfs_to_log_loss_inputs(hot, hot)["y_pred"].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InvalidSubmissionError):
        utils.one_hot_dfs_to_log_loss_inputs(guess.drop(columns="a"), hot)
    with pytest.raises(AssertionError):
        utils.one_hot_dfs_to_log_loss_inputs(guess.assign(id=[1, 3]), hot)


def test_inputs_of_metrics() -> None:
    answers = pd.DataFrame({"id": [1, 2], "y": [0, 1]})
    guess = pd.DataFrame({"id": [2, 1], "y": [0.75, 0.25]})
    inputs = utils.prepare_for_auroc_metric(guess, answers, "id", "y")
    assert inputs["y_true"].tolist() == [0, 1] and inputs["y_score"].tolist() == [0.25, 0.75]
    inputs = utils.prepare_for_accuracy_metric(guess, answers, "y", "id")
    assert inputs["y_true"].tolist() == [0, 1] and inputs["y_pred"].tolist() == [0.25, 0.75]
    for wrong in (guess.head(1), guess.assign(id=[1, 3]), guess.drop(columns="y"), guess.assign(y=["x", "y"]), guess.assign(y=[2, 0])):
        with pytest.raises(InvalidSubmissionError):
            utils.prepare_for_auroc_metric(wrong, answers, "id", "y")


def test_files_are_those_of_the_sandbox() -> None:
    """They are kept twice, since an sdist has no links: copy what was changed."""
    here = Path(utils.__file__).resolve().parents[1]
    there = Path(__file__).resolve().parents[3] / "plugins/sandbox/shim/python/mlebench"
    if not there.is_dir():
        pytest.skip("not in a checkout")
    for name in ("_tools.py", "metrics.py", "competitions/utils.py"):
        assert (here / name).read_bytes() == (there / name).read_bytes()
