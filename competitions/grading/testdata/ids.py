"""Makes ids.json: pairs of id columns around 2^53, 2^63 and 2^64, with and without
gaps, and what pandas says of them: whether they meet the requirements on ids, and
the mean absolute error of rows paired by them, null if pandas raises. The columns
are drawn with a fixed seed. Run it as: python ids.py"""
import io
import json
import os
import pathlib
import random
import sys

import numpy as np
import pandas as pd

BIG, ALL = 2**63, 2**64
draw = random.Random(63)
FAMILIES = [
    [ALL - k for k in range(1, 9)],
    [BIG + k for k in range(-3, 5)],
    [BIG - k for k in range(1, 9)],
    [-1, ALL - 1, 5, BIG, -BIG, BIG - 1, 3, 0],
    [2**53 + k for k in range(-2, 6)],
    [f"{float(2**53 + 2 * k)!r}" for k in range(8)],
    [f"{float(BIG)!r}", f"{float(ALL)!r}", "1.0", "2.5", "-1.0", "5.0", "0.0", "3.0"],
    ["a", "b", "NA", "c", "d", "e", "01", "1"],
    ["a", "null", "b", "c", "None", "e", "nan", "1"],
    ["0", "1", "2", "", "3", "4", "5", "6"],
    ["True", "False", "True", "False", "True", "", "False", "True"],
    [ALL, ALL + 1, 5, 6, ALL - 1, 7, 8, BIG],
]


def pair():
    """Answers' and submission's ids."""
    family = draw.choice(FAMILIES)
    answers = draw.sample(family, draw.randint(2, len(family)))
    other = draw.random()
    if other < 0.35:
        submission = answers[:]
        draw.shuffle(submission)
    elif other < 0.5:
        submission = [a + draw.choice((-1, 0, 1)) if isinstance(a, int) else a for a in answers]
    elif other < 0.6:
        submission = [f"{float(a)!r}" if isinstance(a, int) else a for a in answers]
    elif other < 0.8:
        submission = draw.sample(family, draw.randint(2, len(family)))
    else:
        submission = draw.sample(draw.choice(FAMILIES), len(answers))
    if draw.random() < 0.2:
        submission.append(draw.choice(submission))
    return answers, submission


def text(ids, values):
    return "id,x\n" + "".join(f"{i},{x}\n" for i, x in zip(ids, values))


def read(csv):
    return pd.read_csv(io.StringIO(csv), float_precision="round_trip")


def error(a, b):
    return float(np.mean(np.abs(a.to_numpy() - b.to_numpy()))) if len(a) else None


def overlap(a, s):
    s = s[s.id.isin(a.id)].sort_values("id")
    a = a.sort_values("id")
    n = min(len(a), len(s))
    return error(a.x[:n], s.x[:n])


def join(a, s):
    both = a.merge(s, on="id", suffixes=("_a", "_s"))
    return error(both.x_a, both.x_s)


def equal(a, s):
    return len(a) == len(s) and not (s.id.values != a.id.values).any()


def found(a, s):
    return all(i in a.id.values for i in s.id)


def answer(f, a, s):
    try:
        out = f(a, s)
    except (TypeError, ValueError, AttributeError):
        return None
    return out if isinstance(out, (float, type(None))) else bool(out)


ASKED = {
    "same_ids": lambda a, s: equal(a.sort_values("id"), s.sort_values("id")),
    "same_id_order": equal,
    "same_id_set": lambda a, s: set(s.id) == set(a.id),
    "all_ids": lambda a, s: set(s.id) >= set(a.id),
    "known_ids": found,
    "join": join,
    "overlap": overlap,
}
CASES = []
for _ in range(600):
    answers, submission = (text(ids, [draw.randint(0, 99) for _ in ids]) for ids in pair())
    a, s = read(answers), read(submission)
    said = {name: answer(f, a, s) for name, f in ASKED.items()}
    if s.id.duplicated().any() or a.id.duplicated().any():
        del said["overlap"]  # the order of equal ids depends on the processor
    CASES.append({"answers": answers, "submission": submission, "said": said})

with open(pathlib.Path(__file__).parent / "ids.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"pandas": pd.__version__, "numpy": np.__version__}, "cases": CASES}, f, indent=1)
    f.write("\n")
