"""Makes cases.json: expressions of the prepare language and what pandas, numpy,
scikit-learn or Python give for the same thing, written by to_csv(index=False)."""
import json
import os
import pathlib
import sys

import numpy as np
import pandas as pd
import sklearn
from sklearn.model_selection import train_test_split

RAW = {
    "a.csv": "id,label,group,x,n,text\n" + "".join(
        f"{i},{'cat' if i % 3 else 'dog'},{'gamma alpha beta'.split()[(i * 7) % 3]},"
        f"{'' if i % 5 == 2 else repr(i * 1.7 - 6)},{(i * 11) % 17 - 5},\"{'T' * (i % 3)}_{i},v{i % 4}\"\n" for i in range(1, 24)),
    "b.csv": "group,weight,name\nalpha,1.5,Alpha\nbeta,2,Beta\nalpha,3.25,Again\ndelta,4,Delta\n",
    "long.csv": "id,day\n" + "".join(f"r{i:03d},d{(i * 37) % 50}\n" for i in range(200)),
    "records.json": json.dumps([{"k": i, "v": ["x", "é"][i % 2], "list": [i, 1.5]} for i in range(7)]),
    "lines.txt": "first\r\nsecond\rthird\n\nlast",
    "types.csv": "id,code\n007,1\n008,\n",
    "tabs.tsv": "a\tb\n1\t\"x\"\"y\"\n2\tz\n",
    "fast.csv": "v\n0.1234567890123456789\n40.712278000000005\n-73.98765432109876\n",
    "pics/b/2.png": "", "pics/a/10.png": "", "pics/a/9.png": "", "pics/a-b/1.png": "", "pics/top.png": "", "pics/a/note.txt": "",
}
here = pathlib.Path(__file__).parent
work = here / "work"
for name, text in RAW.items():
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_bytes(text.encode())


def csv(name, **kw):
    return pd.read_csv(work / name, **({"float_precision": "round_trip"} | kw))


a, b, long = csv("a.csv"), csv("b.csv"), csv("long.csv")
records = json.loads(RAW["records.json"])
CASES = []


def case(name, expr, want):
    if isinstance(want, pd.Series):
        want = want.to_frame()
    CASES.append({"name": name, "expr": expr, "want": want.to_csv(index=False)})


tr, te = train_test_split(a, test_size=0.3, random_state=7)
case("csv", 'csv("a.csv")', a)
case("csv types", 'csv("types.csv", { types = { id = "text" } })', csv("types.csv", dtype={"id": str}))
case("csv separator", 'csv("tabs.tsv", { separator = "\\t" })', csv("tabs.tsv", sep="\t"))
case("csv fast floats", 'csv("fast.csv", { floats = "fast" })', pd.read_csv(work / "fast.csv"))
case("csv no header", 'csv("b.csv", { header = false, names = ["p", "q", "r"] })', csv("b.csv", header=None, names=["p", "q", "r"]))
case("text_lines", 'text_lines("lines.txt")', pd.DataFrame({"line": RAW["lines.txt"].replace("\r\n", "\n").replace("\r", "\n").split("\n")}))
files = sorted(p for p in (work / "pics").glob("**/*.png"))
case("files", 'files("pics/**/*.png")', pd.DataFrame({"path": [str(p.relative_to(work)) for p in files], "folder": [p.parent.name for p in files],
                                                     "name": [p.name for p in files], "stem": [p.stem for p in files]}))
case("json column", 'table({ k = json("records.json").k, v = json("records.json").v })', pd.DataFrame(records)[["k", "v"]])
case("json element", 'table({ k = json("records.json").k, one = json("records.json")[3].v })', pd.DataFrame(records)[["k"]].assign(one=records[3]["v"]))
case("train_test_split train", 'train_test_split(csv("a.csv"), { test_size = 0.3, random_state = 7 }).train', tr)
case("train_test_split test", 'train_test_split(csv("a.csv"), { test_size = 0.3, random_state = 7 }).test', te)
case("train_test_split count", 'train_test_split(csv("a.csv").id, { test_size = 5 }).test', pd.Series(train_test_split(a.id, test_size=5, random_state=0)[1]))
case("train_test_split train_size", 'train_test_split(csv("a.csv"), { train_size = 0.75 }).test', train_test_split(a, train_size=0.75, random_state=0)[1])
case("train_test_split stratify", 'train_test_split(csv("a.csv"), { test_size = 0.25, random_state = 3, stratify = csv("a.csv").label }).test',
     train_test_split(a, test_size=0.25, random_state=3, stratify=a.label)[1])
case("sample share", 'sample(csv("a.csv"), { share = 0.2, random_state = 0 })', a.sample(frac=0.2, random_state=0))
case("sample count", 'sample(csv("a.csv"), { count = 4, random_state = 5 })', a.sample(n=4, random_state=5))
case("take", 'take(csv("a.csv"), sample(sequence(csv("a.csv")), { count = 3, random_state = 1 }))', a.take(np.random.RandomState(1).permutation(len(a))[:3]))
case("head", 'head(csv("a.csv"), 3)', a.head(3))
case("skip", 'skip(csv("a.csv"), 20)', a.iloc[20:])
case("reverse", 'reverse(csv("a.csv"))', a.iloc[::-1])
case("filter", 'filter(csv("a.csv"), csv("a.csv").x > 0.5 && csv("a.csv").label != "dog")', a[(a.x > 0.5) & (a.label != "dog")])
case("filter or not", 'filter(csv("a.csv"), !(csv("a.csv").n % 3 == 1) || csv("a.csv").x == 5.9)', a[~(a.n % 3 == 1) | (a.x == 5.9)])
case("where_in", 'where_in(csv("a.csv"), "group", ["alpha", "beta"])', a[a.group.isin(["alpha", "beta"])])
case("where_in column", 'where_in(csv("a.csv"), "n", csv("b.csv").weight)', a[a.n.isin(b.weight)])
case("where_not_in", 'where_not_in(csv("a.csv"), "group", csv("b.csv").group)', a[~a.group.isin(b.group)])
case("isin", 'table({ is = isin(csv("a.csv").id, [3, 5, 99]) })', pd.DataFrame({"is": a.id.isin([3, 5, 99])}))
case("sort", 'sort(csv("a.csv").group)', pd.Series(sorted(a.group), name="group"))
case("sort_values", 'sort_values(csv("a.csv"), "group")', a.sort_values("group"))
case("sort_values introsort ties", 'sort_values(csv("long.csv"), "day")', long.sort_values("day"))
case("sort_values several", 'sort_values(csv("a.csv"), "label", "x")', a.sort_values(["label", "x"]))
case("unique", 'unique(csv("a.csv").group)', pd.Series(a.group.unique(), name="group"))
case("concat tables", 'concat(csv("a.csv"), csv("b.csv"))', pd.concat([a, b]))
case("concat columns", 'concat(csv("a.csv").group, csv("b.csv").group)', pd.concat([a.group, b.group]))
case("take_groups", 'take_groups(csv("a.csv"), "group", ["gamma", "alpha", "none"])', pd.concat([a[a.group == g] for g in ("gamma", "alpha")]))
case("table constant", 'table({ id = csv("b.csv").group, zero = 0, half = 0.5, no = false, empty = "", real = real(0) })',
     pd.DataFrame({"id": b.group}).assign(zero=0, half=0.5, no=False, empty="", real=0.0))
case("assign", 'assign(csv("a.csv"), { n = csv("a.csv").n + 1, z = csv("a.csv").n * 2, b = csv("a.csv").x / 3 })', a.assign(n=a.n + 1, z=a.n * 2, b=a.x / 3))
case("for in with", 'assign(csv("b.csv"), { for c in ["z", "y", "x"] : c => csv("b.csv").weight })', b.assign(z=b.weight, y=b.weight, x=b.weight))
case("select", 'select(csv("a.csv"), "n", ["id", "x"])', a[["n", "id", "x"]])
case("drop", 'drop(csv("a.csv"), ["text", "x"], "n")', a.drop(columns=["text", "x", "n"]))
case("rename", 'rename(csv("b.csv"), { group = "g", name = "weights" })', b.rename(columns={"group": "g", "name": "weights"}))
case("fill", 'fill(csv("b.csv"), ["weight", "extra"], 1 / 3)', b.assign(weight=1 / 3, extra=1 / 3))
case("fillna", 'table({ x = fillna(csv("a.csv").x, 0) })', a[["x"]].fillna(0))
case("one_hot", 'one_hot(csv("a.csv"), "group", ["gamma", "alpha", "none", "beta"])',
     a.drop(columns="group").assign(**{c: (a.group == c).astype(int) for c in ("gamma", "alpha", "none", "beta")}))
case("join_on", 'join_on(csv("a.csv"), csv("b.csv"), "group")', a.merge(b, on="group", how="left"))
case("cross", 'cross(csv("b.csv"), "k", range(3))', b.merge(pd.DataFrame({"k": range(3)}), how="cross"))
case("map", 'table({ g = map(csv("a.csv").group, ["alpha", "gamma"], ["gamma", "alpha"]) })',
     pd.DataFrame({"g": a.group.map({"alpha": "gamma", "gamma": "alpha"})}))
case("map numbers", 'table({ g = map(csv("a.csv").id, csv("a.csv").id, sequence(csv("a.csv"), { start = 100 })) })',
     pd.DataFrame({"g": a.id.map(dict(zip(a.id, range(100, 200))))}))
case("map of equal values", 'table({ g = map(csv("a.csv").group, csv("b.csv").group, csv("b.csv").name) })',
     pd.DataFrame({"g": a.group.map(dict(zip(b.group, b.name)))}))
case("ngroup", 'table({ g = ngroup(csv("a.csv").group, { sort = false }) + 1 })', pd.DataFrame({"g": pd.factorize(a.group)[0] + 1}))
case("ngroup sorted", 'table({ g = ngroup(csv("a.csv").group) })', pd.DataFrame({"g": a.groupby("group").ngroup()}))
case("cumcount", 'table({ g = cumcount(csv("a.csv").group) })', pd.DataFrame({"g": a.groupby("group").cumcount()}))
case("random_integers", 'table({ r = random_integers(csv("a.csv"), 1, 7, { random_state = 42 }) })',
     pd.DataFrame({"r": np.random.RandomState(42).randint(1, 7, size=len(a))}))
case("template", 'table({ t = "${csv("a.csv").group}_${csv("a.csv").n}.${csv("a.csv").id + 0.5}" })',
     pd.DataFrame({"t": [f"{g}_{n}.{i + 0.5}" for g, n, i in zip(a.group, a.n, a.id)]}))
case("condition", 'table({ t = csv("a.csv").n > 3 ? "big" : csv("a.csv").group })', pd.DataFrame({"t": np.where(a.n > 3, "big", a.group)}))
case("modulo", 'table({ t = csv("a.csv").n % 4, u = -csv("a.csv").n })', pd.DataFrame({"t": a.n % 4, "u": -a.n}))
case("before after part", 'table({ b = before(csv("a.csv").text, "_"), a = after(csv("a.csv").text, "_"), p = part(csv("a.csv").text, ",", -1) })',
     pd.DataFrame({"b": [t.split("_")[0] for t in a.text], "a": [t.split("_", 1)[1] for t in a.text], "p": [t.split(",")[-1] for t in a.text]}))
case("lower upper strip", 'table({ l = lower(csv("a.csv").text), u = upper(csv("a.csv").text), s = strip(" x ") })',
     pd.DataFrame({"l": a.text.str.lower(), "u": a.text.str.upper()}).assign(s="x"))
case("substr replace", 'table({ s = substr(csv("a.csv").text, 1, 3), r = replace(csv("a.csv").text, "T", "tt") })',
     pd.DataFrame({"s": a.text.str[1:4], "r": a.text.str.replace("T", "tt", regex=False)}))
case("tests of text", 'table({ c = contains_text(csv("a.csv").text, "v1"), s = startswith(csv("a.csv").text, "TT"), e = endswith(csv("a.csv").text, "3") })',
     pd.DataFrame({"c": a.text.str.contains("v1", regex=False), "s": a.text.str.startswith("TT"), "e": a.text.str.endswith("3")}))
case("zfill", 'table({ p = zfill(csv("a.csv").n, 4) })', pd.DataFrame({"p": [f"{n:04d}" for n in a.n]}))
case("text integer real", 'table({ t = text(csv("a.csv").n), i = integer(csv("fast.csv").v[0]), r = real(csv("a.csv").n) })'.replace('csv("fast.csv").v[0]', '"12"'),
     pd.DataFrame({"t": a.n.astype(str), "i": 12, "r": a.n.astype(float)}))
paths = [str(p.relative_to(work)) for p in files]
case("paths", 'table({ b = basename(files("pics/**/*.png").path), s = stem(files("pics/**/*.png").path), f = folder(files("pics/**/*.png").path) })',
     pd.DataFrame({"b": [pathlib.PurePath(p).name for p in paths], "s": [pathlib.PurePath(p).stem for p in paths], "f": [str(pathlib.PurePath(p).parent) for p in paths]}))
case("list_holds", 'table({ h = list_holds(part(csv("a.csv").text, "v", 1), ",", 2) })', pd.DataFrame({"h": [int(t.split("v")[1]) == 2 for t in a.text]}))
case("sum mean min max", 'table({ id = head(csv("a.csv").id, 1), s = sum(csv("a.csv").n), m = mean(csv("a.csv").n), lo = min(csv("a.csv").x), hi = max(csv("a.csv").x), n = length(csv("a.csv")) })',
     pd.DataFrame({"id": a.id.head(1), "s": a.n.sum(), "m": a.n.mean(), "lo": a.x.min(), "hi": a.x.max(), "n": len(a)}))

with open(here / "cases.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"pandas": pd.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}, "raw": RAW, "cases": CASES}, f, indent=1)
    f.write("\n")
import shutil
shutil.rmtree(work)
