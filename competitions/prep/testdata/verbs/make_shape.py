"""Makes shape.json: expressions of the prepare language that change the shape
of a table and what pandas gives for the same thing, written by
to_csv(index=False)."""
import io
import json
import os
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd

warnings.simplefilter("ignore", FutureWarning)  # idxmax of a row without cells
rng = np.random.RandomState(3)
RAW = {
    "ints.csv": "a,b,c d\n" + "".join("%d,%d,%d\n" % tuple(r) for r in rng.randint(-3, 4, (40, 3))),
    "big.csv": "a,b,c\n9007199254740992,9007199254740993,1\n9007199254740993,9007199254740992,9007199254740994\n-9007199254740993,-9007199254740992,-9007199254740994\n",
    "mixed.csv": "a,b,c\n9007199254740992,9007199254740993,0.5\n1,2,2.0\n-1,-2,-0.5\n0,0,-0.0\n",
    "gaps.csv": "a,b,c\n" + "".join(",".join("" if v > 0.7 else "%.1f" % v for v in r) + "\n" for r in rng.rand(40, 3)) + ",,\ninf,,inf\n,-inf,\n-inf,-inf,\n",
    "flags.csv": "a,b\nTrue,True\nFalse,True\nFalse,False\nTrue,False\n",
    "one.csv": "a\n5\n-1\n",
    "none.csv": "a,b\n",
    "rows.csv": "id,x,y,name\n" + "".join(f"{i},{'' if i % 4 == 1 else i * 0.3},{i % 3},n{i}\n" for i in range(12)),
}
CASES = []


def read(name):
    return pd.read_csv(io.StringIO(RAW[name]), float_precision="round_trip")


def case(name, expr, want):
    CASES.append({"name": name, "expr": expr, "want": want.to_csv(index=False)})


for name in ("ints", "big", "mixed", "gaps", "flags", "one"):
    t = read(f"{name}.csv")
    case(f"idxmax {name}", f'assign(csv("{name}.csv"), {{ best = idxmax(csv("{name}.csv")) }})', t.assign(best=t.idxmax(axis=1)))
case("idxmax nothing", 'assign(csv("none.csv"), { best = idxmax(csv("none.csv")) })', read("none.csv").assign(best=[]))
t = read("ints.csv")
case("idxmax of some", 'assign(csv("ints.csv"), { best = idxmax(select(csv("ints.csv"), "c d", "a")) })', t.assign(best=t[["c d", "a"]].idxmax(axis=1)))
case("idxmax to words", 'assign(csv("ints.csv"), { w = map(idxmax(csv("ints.csv")), ["a", "b", "c d"], ["A", "B", "C"]) })',
     t.assign(w=t.idxmax(axis=1).map({"a": "A", "b": "B", "c d": "C"})))

rows = read("rows.csv")
t = rows.copy()
t[["y", "x", "new"]] = np.column_stack([t["id"]] * 3)
case("fill with a column", 'fill(csv("rows.csv"), ["y", "x", "new"], csv("rows.csv").id)', t)
t = rows.copy()
t["x"] = t["name"]
case("fill with texts", 'fill(csv("rows.csv"), ["x"], csv("rows.csv").name)', t)
case("dropna", 'filter(csv("rows.csv"), csv("rows.csv").x == csv("rows.csv").x)', rows[rows.x.notna()])
case("nunique", 'table({ id = head(csv("rows.csv").id, 1), n = length(unique(filter(csv("rows.csv").x, csv("rows.csv").x == csv("rows.csv").x))) })',
     pd.DataFrame({"id": [0], "n": [rows.x.nunique()]}))

# The first row of the one table and row 7 of the other change places.
a, b = rows.iloc[:9].copy(), rows.iloc[9:].copy()
kept = b.iloc[0].copy()
b.iloc[0] = a.iloc[7].copy()
a.iloc[7] = kept
A, B = 'head(csv("rows.csv"), 9)', 'skip(csv("rows.csv"), 9)'
case("swapped row, first table", f"concat(head({A}, 7), head({B}, 1), skip({A}, 8))", a)
case("swapped row, second table", f"concat(take({A}, skip(head(sequence({A}), 8), 7)), skip({B}, 1))", b)

with open(pathlib.Path(__file__).parent / "shape.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"pandas": pd.__version__, "numpy": np.__version__}, "raw": RAW, "cases": CASES}, f, indent=1)
    f.write("\n")
