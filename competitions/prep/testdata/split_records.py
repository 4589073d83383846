"""The reference's side of BenchmarkSplitRecords: the metadata of
herbarium-2021-fgvc8 split category by category as openai/mle-bench does, with
json, random, scikit-learn and pandas, and without the pictures.

split_records.py RAW OUT"""
import json
import pathlib
import random
import sys

import pandas as pd
from sklearn.model_selection import train_test_split


def dump(value, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f, indent=4, sort_keys=True)


def parts(members):
    if len(members) == 1:
        return members, []
    if len(members) < 5:
        n = max(1, int(len(members) * 0.2))
        return members[:-n], members[-n:]
    return train_test_split(members, test_size=0.2, random_state=0)


def main(raw, out):
    with open(raw / "train/metadata.json", encoding="utf-8") as f:
        source = json.load(f)
    groups = {}
    for note, image in zip(source["annotations"], source["images"]):
        groups.setdefault(note["category_id"], []).append({"note": note, "image": image})
    train, held_out = [], []
    for members in groups.values():
        first, second = parts(members)
        train.append(first)
        held_out.append(second)
    notes, images = [], []
    for members in train:
        for pair in members:
            notes.append(pair["note"].copy())
            images.append(pair["image"].copy())
    dump(source | {"annotations": notes, "images": images}, out / "public/train/metadata.json")
    test = [pair for members in held_out for pair in members]
    random.Random(0).shuffle(test)
    renamed, answers = [], []
    for i, pair in enumerate(test):
        image = pair["image"].copy()
        image["id"] = str(i)
        image["file_name"] = f"images/{i // 1000:03d}/{i}.jpg"
        renamed.append(image)
        answers.append({"Id": image["id"], "Predicted": pair["note"]["category_id"]})
    dump({"images": renamed, "info": source["info"], "licenses": source["licenses"]}, out / "public/test/metadata.json")
    (out / "private").mkdir(parents=True, exist_ok=True)
    pd.DataFrame(answers).to_csv(out / "private/answers.csv", index=False)
    pd.DataFrame([{"Id": a["Id"], "Predicted": 0} for a in answers]).to_csv(out / "public/sample_submission.csv", index=False)


main(*map(pathlib.Path, sys.argv[1:]))
