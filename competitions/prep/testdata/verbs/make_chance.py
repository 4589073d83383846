"""Makes chance.json: expressions of the prepare language that draw from
Python's random module, and what Python draws; and greedy filling by group."""
import json
import os
import pathlib
import platform
import random
import sys

import pandas as pd

RAW = {"a.csv": "id,group\n" + "".join(f"{i},{'ab,c,,de,f,g'.split(',')[(i * i) % 6]}\n" for i in range(1, 60)), "none.csv": "id,group\n"}
a = pd.DataFrame([line.split(",") for line in RAW["a.csv"].splitlines()[1:]], columns=["id", "group"]).astype({"id": int})
CASES = []


def case(name, expr, want):
    CASES.append({"name": name, "expr": expr, "want": pd.DataFrame(want).to_csv(index=False)})


def shuffled(x, rng):
    x = list(x)
    rng.shuffle(x)
    return x


def choose(options, rng):
    one = rng.choice(options)
    return choose(one, rng) if isinstance(one, list) else one


T = 'csv("a.csv")'
for seed in (0, 1, 42, 2**40 + 7, -3):
    order = shuffled(range(len(a)), random.Random(seed))
    case(f"python_shuffle {seed}", f"python_shuffle({T}, {{ random_state = {seed} }}).rows", a.iloc[order])
case("python_shuffle without seed", f"table({{ id = python_shuffle({T}.id).rows }})", {"id": shuffled(a.id, random.Random(0))})
case("python_shuffle nothing", 'python_shuffle(csv("none.csv"), { random_state = 3 }).rows', a.iloc[:0])
for count in (0, 1, 5, 6, 21, 59):
    at = random.Random(5).sample(range(len(a)), count)
    case(f"python_sample {count}", f"python_sample({T}, {count}, {{ random_state = 5 }}).rows", a.iloc[at])
rng = random.Random(0)
case("python_sample set", "table({ n = column(python_sample(range(1000), 7).rows) })", {"n": rng.sample(range(1000), 7)})
rng = random.Random(0)
case("python_sample repeat", "table({ n = column(python_sample(range(1, 21), 20, { repeat = 4 }).rows) })",
     {"n": [x for _ in range(4) for x in rng.sample(range(1, 21), 20)]})
rng = random.Random(9)
case("python_choice", f'table({{ c = python_choice({T}, ["1 3 10 5", "-"], {{ random_state = 9 }}).rows }})', {"c": [rng.choice(["1 3 10 5", "-"]) for _ in range(len(a))]})
rng = random.Random(9)
case("python_choice nested", f'table({{ c = python_choice({T}, ["no", ["x", "y", "z"]], {{ random_state = 9 }}).rows }})',
     {"c": ["no" if rng.choice([True, False]) else rng.choice(["x", "y", "z"]) for _ in range(len(a))]})
rng = random.Random(2)
case("python_choice deep", f"table({{ c = python_choice({T}, [1, [2, [3, 4.5], 5], {T}.id], {{ random_state = 2 }}).rows }})",
     {"c": [float(choose([1, [2, [3, 4.5], 5], list(a.id)], rng)) for _ in range(len(a))]})
rng = random.Random(7)
case("one generator", f'''table({{
  s = python_shuffle({T}.id, {{ random_state = 7 }}).rows
  c = python_choice({T}, ["p", "q", "r"], {{ random_state = python_shuffle({T}.id, {{ random_state = 7 }}).next }}).rows
  d = column(python_sample(range(200), 59, {{ random_state = python_choice({T}, ["p", "q", "r"], {{ random_state = python_shuffle({T}.id, {{ random_state = 7 }}).next }}).next }}).rows)
}})''', {"s": shuffled(a.id, rng), "c": [rng.choice("pqr") for _ in range(len(a))], "d": rng.sample(range(200), 59)})


def first_fit(cells, size):
    groups = {}
    for i, c in enumerate(cells):
        groups.setdefault(c, []).append(i)
    taken = set()
    for rows in groups.values():
        if len(taken) + len(rows) <= size:
            taken.update(rows)
    return [i in taken for i in range(len(cells))]


for size in (0, 9, 10, 11, 25, 40, 58, 59, 100):
    case(f"first_fit {size}", f"assign({T}, {{ t = first_fit({T}.group, {size}) }})", a.assign(t=first_fit(a.group, size)))
case("first_fit nothing", 'first_fit(csv("none.csv").group, 3)', {"group": []})

with open(pathlib.Path(__file__).parent / "chance.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"python": platform.python_version(), "pandas": pd.__version__}, "raw": RAW, "cases": CASES}, f, indent=1)
    f.write("\n")
