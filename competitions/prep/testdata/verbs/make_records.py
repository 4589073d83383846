"""Makes records.json: expressions of the prepare language that work on JSON
records, on rows by groups and on rows by keys, and what Python, pandas and
scikit-learn give for the same thing. Cases with "json" are written by json.dump."""
import io
import itertools
import json
import os
import pathlib
import random
import sys

import numpy as np
import pandas as pd
import sklearn
from sklearn.model_selection import train_test_split

rng = random.Random(7)
HERE = pathlib.Path(__file__).parent
SOURCE = {
    "info": {"year": 2020, "é": [None, 1.5, "\u2028\ud83d"]},
    "empty": [], "nothing": {},
    "images": [{"id": i, "file": f"x/{i}.jpg", "extra": [i, {"n": 1e-7}]} for i in range(6)],
}
# A record has some members in some order, as rng has it.
ATOMS = {"int": 3, "negative": -4, "unsigned": 2**63, "big": 2**64, "long": 2**53 + 1, "float": 2.5, "nan": float("nan"), "inf": float("inf"),
         "true": True, "text": "é", "none": None, "list": [1, 2.0, None], "object": {"b": 1, "a": 2}}
GONE = object()
FRAMES = {}
for k in (1, 2, 3):
    for names in itertools.combinations([*ATOMS, "gone"], k):
        if rng.random() < (1 if k < 3 else 0.12):
            FRAMES["-".join(names)] = [ATOMS.get(n, GONE) for n in names]
FRAME_RECORDS = {name: [({"z": 0} if i % 2 else {}) | ({} if v is GONE else {"a": v}) | {"m": i, **({"z": 1} if i % 2 == 0 else {})} for i, v in enumerate(values)]
                 for name, values in FRAMES.items() if name != "gone"}
GROUPS = [g for g, n in zip("abcdefghijklm", (1, 2, 3, 4, 5, 6, 7, 10, 11, 13, 20, 1, 4)) for _ in range(n)]
rng.shuffle(GROUPS)
RAW = {
    "source.json": json.dumps(SOURCE),
    "frames.json": json.dumps(FRAME_RECORDS),
    "groups.csv": "id,g,n\n" + "".join(f"r{i},{g},{ord(g) % 7}\n" for i, g in enumerate(GROUPS)),
    "keys.csv": "key,number\n" + "".join(f"{k},{n}\n" for k, n in zip("abcabde", (3, 1, 4, 1.0, 5, 9, 2))),
    "sums.csv": "i,f,gap,b\n" + "".join(f"{i * i - 20},{0.1 * i!r},{'' if i % 4 == 2 else repr(i / 3)},{i % 3 == 0}\n" for i in range(12)),
}
CASES = []


def table(name, expr, want):
    CASES.append({"name": name, "expr": expr, "want": pd.DataFrame(want).to_csv(index=False)})


def text(name, expr, want):
    CASES.append({"name": name, "expr": expr, "json": True, "want": json.dumps(want)})


S = 'json("source.json")'
images = SOURCE["images"]
text("object", f'object({{ images = {S}.images, "a b" = 1, x = {S}.info, t = "é", f = real(1), none = null, yes = true }})',
     {"images": images, "a b": 1, "x": SOURCE["info"], "t": "é", "f": 1.0, "none": None, "yes": True})
sums = pd.read_csv(io.StringIO(RAW["sums.csv"]), float_precision="round_trip")
text("object of columns", 'object({ gap = csv("sums.csv").gap, b = csv("sums.csv").b, list = ["x", 1, [2]], deep = object({ y = 1, x = 2 }) })',
     {"gap": list(sums.gap), "b": [bool(b) for b in sums.b], "list": ["x", 1, [2]], "deep": {"y": 1, "x": 2}})
text("with_fields column", f'with_fields({S}.images, {{ file = "${{{S}.images.id}}.png", new = {S}.images.id + 0.5 }})',
     [{**r, "file": f"{r['id']}.png", "new": r["id"] + 0.5} for r in images])
text("with_fields one value", f'with_fields({S}.images, {{ zero = 0, id = {S}.info, all = [1] }})', [{**r, "zero": 0, "id": SOURCE["info"], "all": [1]} for r in images])
text("with_fields object", f'with_fields({S}, {{ images = {S}.images.id, info = null, more = {S}.empty }})', {**SOURCE, "images": [r["id"] for r in images], "info": None, "more": []})
text("with_fields nothing", f'with_fields({S}.empty, {{ id = 1 }})', [])
text("select_fields", f'select_fields({S}.images, ["file", "id"])', [{"file": r["file"], "id": r["id"]} for r in images])
text("drop_fields object", f'drop_fields({S}, ["images", "none"])', {k: v for k, v in SOURCE.items() if k != "images"})
text("filter records", f'filter({S}.images, {S}.images.id % 2 == 1)', [r for r in images if r["id"] % 2 == 1])
text("take records", f'take({S}.images, column([5, 0, 5]))', [images[5], images[0], images[5]])
scalars = FRAME_RECORDS["big"][0], {"a": ATOMS["nan"]}, FRAME_RECORDS["unsigned"][0], {"a": -(2**63)}, FRAME_RECORDS["float"][0], FRAME_RECORDS["none"][0], FRAME_RECORDS["true"][0]
for i, (name, record) in enumerate(zip(("big", "nan", "unsigned", "lowest", "float", "none", "true"), scalars)):
    text("member " + name, f'object({{ a = json("scalars.json")[{i}].a }})', {"a": record["a"]})
RAW["scalars.json"] = json.dumps(scalars)
for name, records in FRAME_RECORDS.items():
    text("pandas_records " + name, f'pandas_records(json("frames.json")["{name}"])', pd.DataFrame(records).to_dict(orient="records"))
text("pandas_records nothing", f"pandas_records({S}.empty)", pd.DataFrame([]).to_dict(orient="records"))

groups = pd.read_csv(io.StringIO(RAW["groups.csv"]))
G = 'csv("groups.csv")'


def split_each(rows, key, share, seed, small):
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    train, test = [], []
    for members in found.values():
        if len(members) >= small:
            first, second = train_test_split(members, test_size=share, random_state=seed)
        elif len(members) == 1:
            first, second = members, []
        else:
            n = max(1, int(len(members) * share))
            first, second = members[:-n], members[-n:]
        train += first
        test += second
    return train, test


for share, seed, small in ((0.2, 0, 5), (0.12, 0, 5), (0.5, 3, 5), (0.4, 1, 2), (0.9, 7, 12), (0.35, 2, 100)):
    train, test = split_each(list(groups.itertuples(index=False)), lambda r: r.g, share, seed, small)
    for part, rows in ("train", train), ("test", test):
        table(f"train_test_split_each {share} {seed} {small} {part}", f"train_test_split_each({G}, {G}.g, {{ test_size = {share}, random_state = {seed}, shuffle_from = {small} }}).{part}",
              pd.DataFrame(rows, columns=["id", "g", "n"]))
train, test = split_each([r for r in groups.itertuples(index=False)], lambda r: r.n, 0.2, 0, 0)
for part, rows in ("train", train), ("test", test):
    table(f"train_test_split_each all {part}", f"train_test_split_each({G}, {G}.n, {{ test_size = 0.2 }}).{part}", pd.DataFrame(rows, columns=["id", "g", "n"]))

keys = pd.read_csv(io.StringIO(RAW["keys.csv"]))
K = 'csv("keys.csv")'
for column, values in ("key", ["a", "e", "a", "c"]), ("number", [1, 9.0, 3, 4]):
    where = {cell: i for i, cell in enumerate(keys[column])}
    table(f"positions {column}", f"table({{ position = positions({K}.{column}, {json.dumps(values)}) }})", {"position": [where[v] for v in values]})
    table(f"positions {column} by column", f"table({{ position = positions({K}.{column}, {K}.{column}) }})", {"position": [where[v] for v in keys[column]]})
for name in sums:
    table(f"cumsum {name}", f'table({{ {name} = cumsum(csv("sums.csv").{name}) }})', {name: sums[name].cumsum()})
(HERE / "records.json").write_text(json.dumps({
    "command": " ".join(["python", *map(os.path.basename, sys.argv)]), "versions": {"pandas": pd.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}, "raw": RAW, "cases": CASES}, indent=1) + "\n")
