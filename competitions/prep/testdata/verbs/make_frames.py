"""Makes frames.json: expressions with verbs of whole tables and of series, and what pandas or numpy give for the same thing, written by
to_csv(index=False). numpy sorts without the processor's vector instructions, which leave equal numbers in another order."""
import io
import json
import os
import pathlib
import sys

os.environ["NPY_DISABLE_CPU_FEATURES"] = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
import numpy as np
import pandas as pd

RAW = {
    "f.csv": "k,n,x,t,day,at\n" + "".join(
        f"{['b', 'a', '', 'Z', 'é'][(i * 5) % 7 % 5]},{(i * 7) % 4 - 1},{'' if i % 3 == 1 else (i * 7919 % 101) / 7 - 5},{['x1_a', 'né22', '', 'no'][i % 4]},"
        f"{'' if i % 9 == 4 else f'20{i % 30:02}-{i % 12 + 1:02}-{i % 28 + 1:02}'},2021-0{i % 9 + 1}-11 {i % 24:02}:{i:02}:59\n" for i in range(60)),
    "many.csv": "g,v,d\n" + "".join(f"g{i * 31 % 37},{0.1 * (i % 13) if i % 5 else 1e15},{i * 17 % 5}\n" for i in range(400)),
    "huge.csv": "g,v\na,inf\na,1\nb,\nb,\nc,1e308\nc,1e308\n",
    "wide.csv": "id,s,one,two\n3,p,1,2.5\n1,q,3,\n",
    "long.csv": "day,who,v\n2,zoe,1\n1,amy,2\n1,zoe,3\n3,amy,4\n",
}


def csv(name):
    return pd.read_csv(io.StringIO(RAW[name]), float_precision="round_trip")


f, many, huge, wide, long = map(csv, RAW)
CASES = []


def case(expr, want):
    if isinstance(want, pd.Series):
        want = want.to_frame()
    CASES.append({"name": expr, "expr": expr, "want": want.to_csv(index=False)})


def column(expr, want):
    case(f"table({{ r = {expr} }})", pd.DataFrame({"r": want}))


case('drop_duplicates(csv("f.csv"), ["k", "n"])', f.drop_duplicates(["k", "n"]))
case('drop_duplicates(select(csv("f.csv"), "k", "n"), [])', f[["k", "n"]].drop_duplicates())
for c in f.columns:
    case(f'sort_descending(csv("f.csv"), "{c}")', f.sort_values(c, ascending=False))
    case(f'value_counts(csv("f.csv").{c})', f[c].value_counts().reset_index())
case('sort_descending(csv("many.csv"), "d")', many.sort_values("d", ascending=False))
case('value_counts(csv("many.csv").g)', many.g.value_counts().reset_index())
case('group_mean(csv("many.csv"), "g", "v", {})', many.groupby("g").v.mean().reset_index())
case('group_mean(csv("f.csv"), ["k", "n"], "x", { sort = false })', f.groupby(["k", "n"], sort=False).x.mean().reset_index())
case('group_mean(csv("f.csv"), "k", "n", {})', f.groupby("k").n.mean().reset_index())
case('group_mean(csv("huge.csv"), "g", "v", {})', huge.groupby("g").v.mean().reset_index())
case('melt(csv("wide.csv"), ["id", "s"])', wide.melt(["id", "s"]))
case('melt(drop(csv("wide.csv"), "s"), "id")', wide.drop(columns="s").melt("id"))
case('pivot(csv("long.csv"), "day", "who", "v")', long.pivot(index="day", columns="who", values="v").reset_index())
case('pivot(csv("long.csv"), "who", "day", "v")', long.pivot(index="who", columns="day", values="v").reset_index())
column('characters(csv("f.csv").t)', f.t.str.len())
column('characters(fillna(csv("f.csv").t, ""))', f.t.fillna("").str.len())
column('abs(csv("f.csv").n)', f.n.abs())
column('abs(csv("f.csv").x)', f.x.abs())
with np.errstate(all="ignore"):
    column('log(csv("f.csv").n)', np.log(f.n))
    column('log(csv("f.csv").x)', np.log(f.x))
for c in ("n", "x", "t"):
    for by in (1, -2, 0, 100):
        column(f'shift(csv("f.csv").{c}, {by}, {{}})', f[c].shift(by))
        column(f'shift(csv("f.csv").{c}, {by}, {{ groups = csv("f.csv").k }})', f[c].groupby(f.k).shift(by))
for part in ("year", "quarter", "month", "day", "dayofweek", "dayofyear"):
    column(f'date_part(csv("f.csv").day, "{part}")', getattr(pd.to_datetime(f.day).dt, part))
for part in ("hour", "minute", "second", "dayofweek"):
    column(f'date_part(csv("f.csv").at, "{part}")', getattr(pd.to_datetime(f["at"]).dt, part))
column('cut(csv("f.csv").n, [-1, 0, 1.5])', pd.cut(f.n, [-1, 0, 1.5], labels=False))
column('cut(csv("f.csv").n, [-5, 0, 5])', pd.cut(f.n, [-5, 0, 5], labels=False))
column('cut(csv("f.csv").x, [-2, 0.5, 8])', pd.cut(f.x, [-2, 0.5, 8], labels=False))
column('extract(csv("f.csv").t, "([0-9]+)")', f.t.str.extract("([0-9]+)", expand=False))
column('extract(csv("f.csv").t, "(?P<w>[a-zé]+)[0-9]")', f.t.str.extract("(?P<w>[a-zé]+)[0-9]", expand=False))
column('matches(csv("f.csv").t, "^n|_a$")', f.t.str.contains("^n|_a$", na=False))
here = pathlib.Path(__file__).parent
with open(here / "frames.json", "w", encoding="utf-8") as out:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"python": sys.version.split()[0], "pandas": pd.__version__, "numpy": np.__version__}, "raw": RAW, "cases": CASES}, out, indent=1)
    out.write("\n")
