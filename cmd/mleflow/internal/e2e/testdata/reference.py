"""The reference's way of preparing and grading, to be measured against.

    python reference.py taxi|text|images RAW OUT
    python reference.py auc|logloss|accuracy SUBMISSION ANSWERS

It does with pandas and scikit-learn what openai/mle-bench does with them, and
leaves out what else that program does (its registry, hashing of what it
downloaded and prepared, progress bars). Grading prints the score.
"""

import csv
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split


def read(path):
    return pd.read_csv(path, float_precision="round_trip")


def folders(out):
    public, private = Path(out) / "public", Path(out) / "private"
    public.mkdir(parents=True)
    private.mkdir(parents=True)
    return public, private


def taxi(raw, out):
    public, private = folders(out)
    train, test = train_test_split(read(Path(raw) / "train.csv"), test_size=9914, random_state=0)
    sample = test[["key"]].copy()
    sample["fare_amount"] = 11.35
    train.to_csv(public / "labels.csv", index=False)
    test.drop(columns=["fare_amount"]).to_csv(public / "test.csv", index=False)
    sample.to_csv(public / "sample_submission.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    shutil.copy(Path(raw) / "GCP-Coupons-Instructions.rtf", public)
    assert set(train["key"]).isdisjoint(set(test["key"]))


def renumber(df):
    new = {old: i for i, old in enumerate(df["sentence_id"].unique())}
    return df.assign(sentence_id=df["sentence_id"].map(new))


def text(raw, out):
    public, private = folders(out)
    with zipfile.ZipFile(Path(raw) / "en_train.csv.zip") as z:
        z.extractall(out)
    tokens = read(Path(out) / "en_train.csv")
    train_ids, test_ids = train_test_split(tokens["sentence_id"].unique(), test_size=0.1, random_state=0)
    train = renumber(tokens[tokens["sentence_id"].isin(train_ids)])
    answers = renumber(tokens[tokens["sentence_id"].isin(test_ids)])
    test = answers.drop(columns=["after", "class"])
    answers = answers.assign(id=answers["sentence_id"].astype(str) + "_" + answers["token_id"].astype(str))
    sample = answers[["id"]].assign(after=test["before"])
    quoted = {"index": False, "quoting": csv.QUOTE_NONNUMERIC}
    answers[["id", "after"]].to_csv(private / "answers.csv", **quoted)
    sample.to_csv(private / "sample_submission.csv", **quoted)
    for name, df in (("en_train", train), ("en_test_2", test), ("en_sample_submission_2", sample)):
        df.to_csv(public / f"{name}.csv", **quoted)
        with zipfile.ZipFile(public / f"{name}.csv.zip", "w") as z:
            z.write(public / f"{name}.csv", arcname=f"{name}.csv")
        (public / f"{name}.csv").unlink()


def images(raw, out):
    raw = Path(raw)
    public, private = folders(out)
    labels = read(raw / "train_labels.csv")
    n = len(list((raw / "test").glob("*.tif")))
    train_ids, test_ids = train_test_split(labels["id"], test_size=n / (n + len(labels)), random_state=0)
    train, test = labels[labels["id"].isin(train_ids)], labels[labels["id"].isin(test_ids)]
    train.to_csv(public / "train_labels.csv", index=False)
    test.to_csv(private / "answers.csv", index=False)
    test.assign(label=0).to_csv(public / "sample_submission.csv", index=False)
    for name, part in (("train", train), ("test", test)):
        (public / name).mkdir()
        for i in part["id"]:
            shutil.copyfile(raw / "train" / f"{i}.tif", public / name / f"{i}.tif")


def aligned(submission, answers, key, columns):
    submission, answers = read(submission), read(answers)
    assert all(c in submission.columns for c in [key, *columns])
    assert len(submission) == len(answers)
    assert set(submission[key]) == set(answers[key])
    return submission.sort_values(key).reset_index(drop=True), answers.sort_values(key).reset_index(drop=True)


def auc(submission, answers):
    s, a = aligned(submission, answers, "id", ["has_cactus"])
    assert s["has_cactus"].between(0, 1).all()
    return roc_auc_score(a["has_cactus"], s["has_cactus"])


def logloss(submission, answers):
    classes = [c for c in pd.read_csv(answers, nrows=0).columns if c != "id"]
    s, a = aligned(submission, answers, "id", classes)
    assert np.isclose(s[classes].sum(axis=1), 1, atol=1e-6).all()
    assert ((s[classes] >= 0) & (s[classes] <= 1)).all().all()
    classes = sorted(classes)
    return log_loss(a[classes].idxmax(axis=1), s[classes].to_numpy(), labels=classes)


def accuracy(submission, answers):
    s, a = aligned(submission, answers, "Id", ["Cover_Type"])
    return accuracy_score(a["Cover_Type"], s["Cover_Type"])


if __name__ == "__main__":
    result = globals()[sys.argv[1]](*sys.argv[2:])
    if result is not None:
        print(repr(float(result)))
