"""The reference's way of preparing and grading, to be measured against.

    python reference.py taxi|text|images|bson|lines RAW OUT
    python reference.py auc|logloss|accuracy|masks|boxes|cuboids SUBMISSION ANSWERS

It does with pandas and scikit-learn, and for boxes with pycocotools, for
cuboids with shapely and pyquaternion, what openai/mle-bench does with them, and
leaves out what else that program does (its registry, hashing of what it
downloaded and prepared, progress bars). Grading prints the score.
"""

import contextlib
import csv
import multiprocessing
import os
import shutil
import sys
import zipfile
from collections import defaultdict
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


def some_documents(path):
    import bson

    with open(path, "rb") as f:
        yield from bson.decode_file_iter(f)


def pick(path, ids, into, without=(), most=None):
    import bson

    n = 0
    with open(into, "wb") as f:
        for d in some_documents(path):
            if d["_id"] not in ids:
                continue
            for name in without:
                d.pop(name, None)
            f.write(bson.encode(d))
            n += 1
            if n == most:
                return


def bson(raw, out):
    public, private = folders(out)
    source = Path(raw) / "train.bson"
    whole = pd.DataFrame([{"_id": d["_id"], "category_id": d["category_id"]} for d in some_documents(source)])
    train, test = train_test_split(whole, test_size=0.1, random_state=0)
    test = test.sort_values(by="_id")
    test.to_csv(private / "answers.csv", index=False)
    test.assign(category_id=1000010653).to_csv(public / "sample_submission.csv", index=False)
    train_ids, test_ids = set(train["_id"]), set(test["_id"])
    pick(source, train_ids, public / "train.bson")
    pick(source, test_ids, public / "test.bson", without=["category_id"])
    pick(source, train_ids, public / "train_example.bson", most=100)
    shutil.copy(Path(raw) / "category_names.csv", public)


def lines(raw, out):
    public, private = folders(out)
    with zipfile.ZipFile(Path(raw) / "train_v2.txt.zip") as z:
        z.extractall(out)
    rng, n = np.random.RandomState(0), 0
    with (
        open(Path(out) / "train_v2.txt", encoding="utf-8") as source,
        open(public / "train_v2.txt", "w", encoding="utf-8") as train,
        open(public / "test_v2.txt", "w", encoding="utf-8") as test,
        open(private / "test.csv", "w", encoding="utf-8") as answers,
    ):
        for f in (test, answers):
            f.write('"id","sentence"\n')
        for line in source:
            if rng.uniform() > 0.01 or len(line.strip().split()) < 3:
                train.write(line)
                continue
            line = line.strip().replace('"', '""')
            words = line.split()
            del words[rng.randint(1, len(words) - 1)]
            answers.write(f'{n},"{line}"\n')
            test.write(f'{n},"{" ".join(words)}"\n')
            n += 1
    shutil.copy(public / "test_v2.txt", private / "sample_submission.csv")
    for name in ("train_v2", "test_v2"):
        with zipfile.ZipFile(public / f"{name}.txt.zip", "w", zipfile.ZIP_DEFLATED) as z:
            z.write(public / f"{name}.txt", arcname=f"{name}.txt")
        (public / f"{name}.txt").unlink()
    (Path(out) / "train_v2.txt").unlink()


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


def decoded(text, height, width):
    """A mask of run lengths as an array of truth values."""
    numbers = [int(word) for word in text.split()]
    starts, lengths = numbers[0::2], numbers[1::2]
    assert starts == sorted(starts) and all(n > 0 for n in numbers)
    mask = np.zeros(height * width, dtype=bool)
    for start, length in zip(starts, lengths):
        assert not mask[start - 1 : start - 1 + length].any()
        mask[start - 1 : start - 1 + length] = True
    return mask.reshape((width, height)).T


def masks(submission, answers):
    """Dice coefficient of all pictures together."""
    s, a = read(submission), read(answers)
    assert len(s) == len(a)
    s, a = s.sort_values("record_id"), a.sort_values("record_id")
    assert (s["record_id"].values == a["record_id"].values).all()
    sizes = list(zip(a["height"].values, a["width"].values))
    sides = []
    for df in (s, a):
        texts = df["encoded_pixels"].replace("-", "").values
        sides.append(np.array([decoded(text, int(h), int(w)) for text, (h, w) in zip(texts, sizes)]).ravel())
    return 2 * np.sum(sides[0] * sides[1]) / (np.sum(sides[0]) + np.sum(sides[1]))


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def boxes(submission, answers):
    """COCO's average precision at an overlap of 0.4."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    s, a = read(submission), read(answers)
    assert set(s["image_id"]) == set(a["image_id"])
    images = a["image_id"].unique()
    head = {
        "images": [{"id": i} for i in range(len(images))],
        "categories": [{"id": c, "name": c} for c in sorted(a["class_id"].unique())],
    }
    common = {"segmentation": [], "ignore": 0, "iscrowd": 0}
    truth, found = [], []
    for i, name in enumerate(images):
        for _, row in a[a["image_id"] == name].iterrows():
            box = np.array([row["x_min"], row["y_min"], row["x_max"], row["y_max"]])
            truth.append({"id": len(truth), "image_id": i, "category_id": row["class_id"], "bbox": box, "area": area(box), **common})
    for _, row in s.iterrows():
        i = int(np.where(images == row["image_id"])[0][0])
        for p in np.array([float(word) for word in row["PredictionString"].split(" ")]).reshape(-1, 6):
            found.append({"id": len(found), "image_id": i, "category_id": int(p[0]), "bbox": p[2:], "area": area(p[2:]), "score": p[1], **common})
    sides = []
    for annotations in (truth, found):
        side = COCO()
        side.dataset = {**head, "annotations": annotations}
        side.createIndex()
        sides.append(side)
    evaluation = COCOeval(*sides, "bbox")
    evaluation.params.imgIds = sorted(sides[0].getImgIds())
    evaluation.params.iouThrs = np.array([0.4])
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation.stats[0]


class Cuboid:
    """A box that stands upright."""

    def __init__(self, at, size, turn):
        from shapely.geometry import Polygon

        assert not np.any(np.isnan(at)) and not np.any(np.isnan(size)) and np.all([x > 0 for x in size])
        self.volume = np.prod(size)
        self.low, self.high = at[2] - size[2] / 2, at[2] + size[2] / 2
        rotation = turn.rotation_matrix
        along = np.array([rotation[0, 0], rotation[1, 0]]) * size[1] / 2
        across = np.array([rotation[1, 0], -rotation[0, 0]]) * size[0] / 2
        corners = [at[:2] + along + across, at[:2] + along - across, at[:2] - along - across, at[:2] - along + across]
        for a, b, c in ((0, 1, 3), (1, 0, 2), (2, 1, 3), (3, 0, 2)):
            assert np.isclose(np.dot(corners[b] - corners[a], corners[c] - corners[a]), 0)
        self.ground = Polygon([*corners, corners[0]])

    def overlap(self, other):
        height = max(0, min(self.high, other.high) - max(self.low, other.low))
        shared = height * self.ground.intersection(other.ground).area
        return np.clip(shared / (self.volume + other.volume - shared), 0, 1)


def cuboid_list(text):
    from pyquaternion import Quaternion

    words = text.split(" ") if text.strip() else []
    assert len(words) % 9 == 0
    out = []
    for i in range(0, len(words), 9):
        v = [float(word) for word in words[i : i + 8]]
        out.append((words[i + 8], v[0], v[1:4], v[4:7], list(Quaternion(axis=[0, 0, 1], radians=v[7]))))
    return out


def cuboid_precision(truth, found, least):
    from pyquaternion import Quaternion

    wanted = [Cuboid(np.array(at), size, Quaternion(turn)) for _, _, at, size, turn in truth]
    taken = np.zeros(len(wanted))
    found = sorted(found, key=lambda f: f[1], reverse=True)
    right = np.zeros(len(found))
    for i, (_, _, at, size, turn) in enumerate(found):
        box = Cuboid(np.array(at), size, Quaternion(turn))
        overlaps = [box.overlap(w) for w in wanted]
        best = np.argmax(overlaps)
        if np.max(overlaps) > least and not taken[best]:
            taken[best] = right[i] = 1
    hits, misses = np.cumsum(right), np.cumsum(1 - right)
    recall = np.concatenate(([0.0], hits / len(wanted), [1.0]))
    precision = np.concatenate(([0.0], hits / np.maximum(hits + misses, np.finfo(float).eps), [0.0]))
    for i in range(precision.size - 1, 0, -1):
        precision[i - 1] = np.maximum(precision[i - 1], precision[i])
    step = np.where(recall[1:] != recall[:-1])[0]
    return np.sum((recall[step + 1] - recall[step]) * precision[step + 1])


def cuboid_row(pair):
    truth, found = defaultdict(list), defaultdict(list)
    for side, boxes in zip((truth, found), pair):
        for box in boxes:
            side[box[0]].append(box)
    means = []
    for least in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95):
        means.append(np.mean([cuboid_precision(truth[c], found[c], least) if c in found else 0.0 for c in sorted(truth)]))
    return means


def cuboids(submission, answers):
    """Mean average precision of boxes in space, on all cores."""
    s, a = read(submission), read(answers)
    assert len(s) == len(a)
    s, a = s.sort_values("Id"), a.sort_values("Id")
    assert (s["Id"].values == a["Id"].values).all()
    rows = [[cuboid_list(text) for text in df["PredictionString"].fillna("")] for df in (a, s)]
    with multiprocessing.Pool(multiprocessing.cpu_count()) as pool:
        return np.mean([m for row in pool.imap(cuboid_row, list(zip(*rows))) for m in row])


if __name__ == "__main__":
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
        result = globals()[sys.argv[1]](*sys.argv[2:])
    if result is not None:
        print(repr(float(result)))
