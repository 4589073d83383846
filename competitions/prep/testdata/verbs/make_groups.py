"""Makes groups.json: expressions with the verbs over groups of rows, words and
draws, and what pandas, numpy or Python give for the same thing, written by
to_csv(index=False)."""
import datetime
import io
import json
import os
import pathlib
import sys

import numpy as np
import pandas as pd

RAW = {
    # Keys with gaps, numbers as keys, cells that are missing in a group's first rows or in all.
    "g.csv": "k,n,x,t,flag,whole\n" + "".join(
        f"{['b', 'a', '', 'Z', 'é', 'a b'][(i * 5) % 6]},{(i * 7) % 4 - 1},{'' if i % 3 else i / 7},{'' if i < 12 or i % 2 else 't' + str(i)},"
        f"{'' if i % 4 == 1 else i % 3 == 0},{i * i}\n" for i in range(40)),
    "visits.csv": "who,week,fvc,age\nB,3,30,\nA,-1,10,1.5\nB,2,20,7\nA,1,11,\nC,0,5,9\nA,1,12,3\n,2,1,1\n",
    "grid.csv": "week,who\n2,B\n1,A\n2,A\n0,C\n2,\n-1,A\n2,B\n",
    "words.csv": 'id,box,more\np1,"U+003F 1 2  3 4 U+FF2F 10 20 30 40",x\np2," ",y\np3,"a\t1\u00a02\u001c3 4",\np4,b 5 6 7 8,z\n',
    "tags.csv": 'fname,labels,n\na.wav,"Bark,Meow",1\nb.wav,,2\nc.wav,"Bark ,Purr_(cat)",3\nd.wav,"Meow,Meow,other",4\n',
    "days.csv": "day,v\n2020-09-22,1\n2020-09-15,2\n2020-09-14,3\n1969-12-31,4\n2000-02-29,5\n0001-01-01,6\n9999-12-31,7\n2020-09-22,8\n",
    "half.csv": "v,w\n0.125,1\n0.375,2\n2.675,3\n-1.005,4\n,5\n1e300,6\n0.5,7\n1.5,8\n-0.001,9\n",
    "many.csv": "v,n\n" + "".join(f"{'' if i % 11 == 3 else (i * 7919 % 1009) / 7},{i}\n" for i in range(700)),
    "one.csv": "v\n1\n",
}
here = pathlib.Path(__file__).parent


def csv(name):
    return pd.read_csv(io.StringIO(RAW[name]), float_precision="round_trip")


g, visits, grid, words, tags, days, half = map(csv, ["g.csv", "visits.csv", "grid.csv", "words.csv", "tags.csv", "days.csv", "half.csv"])
CASES = []


def case(name, expr, want):
    if isinstance(want, pd.Series):
        want = want.to_frame()
    CASES.append({"name": name, "expr": expr, "want": want.to_csv(index=False)})


def joined(table, by, column, sep, sort=True):
    return table.groupby(by, sort=sort)[column].apply(lambda c: sep.join(c.astype(str))).reset_index()


def exploded(table, column, names):
    rows = []
    for _, row in table.iterrows():
        w = row[column].split()
        for k in range(0, len(w), len(names)):
            rows.append(row.drop(column).tolist() + w[k:k + len(names)])
    return pd.DataFrame(rows, columns=[c for c in table.columns if c != column] + names)


case("group_first", 'group_first(csv("g.csv"), "k")', g.groupby("k").first().reset_index())
case("group_first by number", 'group_first(csv("g.csv"), "n")', g.groupby("n").first().reset_index())
case("group_first by two", 'group_first(csv("g.csv"), ["n", "k"])', g.groupby(["n", "k"]).first().reset_index())
case("group_first by float", 'group_first(csv("g.csv"), "x")', g.groupby("x").first().reset_index())
case("group_first by condition and text", 'group_first(csv("g.csv"), ["flag", "k"])', g.groupby(["flag", "k"]).first().reset_index())
case("group_first unsorted", 'group_first(csv("g.csv"), ["k", "n"], { sort = false })', g.groupby(["k", "n"], sort=False).first().reset_index())
case("group_first only keys", 'group_first(csv("visits.csv"), ["who", "week", "fvc", "age"])',
     visits.groupby(["who", "week", "fvc", "age"]).first().reset_index())
case("fillna of a table", 'fillna(group_first(csv("g.csv"), ["n", "k"]), 0)', g.groupby(["n", "k"]).first().reset_index().fillna(0))
case("fillna with a text", 'fillna(csv("g.csv"), "none")', g.astype(object).where(g.notna(), "none"))
case("group_join", 'group_join(csv("g.csv"), "k", "whole", " ")', joined(g, "k", "whole", " "))
case("group_join by two", 'group_join(csv("g.csv"), ["n", "k"], "whole", ";")', joined(g, ["n", "k"], "whole", ";"))
case("group_join nothing between", 'group_join(csv("g.csv"), "k", "n", "")', joined(g, "k", "n", ""))
case("group_join floats", 'group_join(filter(csv("visits.csv"), csv("visits.csv").fvc > 9), "who", "fvc", ", ")', joined(visits[visits.fvc > 9], "who", "fvc", ", "))
case("group_join appearance", 'group_join(csv("g.csv"), ["k", "n"], "whole", "_", { sort = false })', joined(g, ["k", "n"], "whole", "_", sort=False))
case("group_size", 'table({ s = group_size(csv("g.csv").k) })', pd.DataFrame({"s": g.groupby("k", dropna=False)["n"].transform("size")}))
case("sample_each", 'sample_each(where_not_in(csv("g.csv"), "k", ["é"]), "k", { count = 3, random_state = 0 })',
     pd.concat([v.sample(3, random_state=0) for k, v in g[g.k != "é"].groupby("k", sort=False)]))
case("sample_each share", 'sample_each(csv("g.csv"), "n", { share = 0.45, random_state = 7 })',
     pd.concat([v.sample(frac=0.45, random_state=7) for k, v in g.groupby("n", sort=False)]))
case("join_on two", 'join_on(csv("grid.csv"), csv("visits.csv"), ["who", "week"])', grid.merge(visits, on=["who", "week"], how="left"))
case("join_on two without gaps", 'join_on(csv("visits.csv"), rename(csv("visits.csv"), { fvc = "f", age = "a" }), ["week", "who"])',
     visits.merge(visits.rename(columns={"fvc": "f", "age": "a"}), on=["week", "who"], how="left"))
case("explode_words", 'explode_words(csv("words.csv"), "box", ["c", "x", "y", "w", "h"])', exploded(words, "box", ["c", "x", "y", "w", "h"]))
case("explode_words one", 'explode_words(csv("words.csv"), "box", ["word"])', exploded(words, "box", ["word"]))
e = exploded(words, "box", ["c", "x", "y", "w", "h"])
e["box"] = [f"{c} {int(x) + 1} {int(y) + 1}" for c, x, y in zip(e.c, e.x, e.y)]
W = 'explode_words(csv("words.csv"), "box", ["c", "x", "y", "w", "h"])'
case("explode_words and group_join", 'join_on(select(csv("words.csv"), "id"), group_join(table({ id = %s.id, ' % W
     + 'box = "${%s.c} ${integer(%s.x) + 1} ${integer(%s.y) + 1}" }), "id", "box", " "), "id")' % (W, W, W),
     words[["id"]].merge(joined(e, "id", "box", " "), on="id", how="left"))
classes = ["Purr_(cat)", "Meow", "none", "Bark"]
case("multi_hot", f'multi_hot(csv("tags.csv"), "labels", {json.dumps(classes)}, ",")',
     tags.drop(columns="labels").join(tags.labels.str.get_dummies(sep=",").reindex(columns=classes, fill_value=0)))
for lo, hi, rows in [(0, 1, "g.csv"), (-3.7, 11.1, "days.csv"), (5, 5, "half.csv"), (0, 1e-323, "g.csv"), (2.5, 7, "one.csv"), (1, 0.1, "half.csv")]:
    case(f"linspace {lo} {hi}", f'table({{ l = linspace(csv("{rows}"), {lo}, {hi}) }})', pd.DataFrame({"l": np.linspace(lo, hi, len(csv(rows)))}))
for lo, hi, seed in [(1, 100, 0), (0, 1, 0), (-2.5, 0.1, 42)]:
    case(f"random_uniform {lo} {hi}", f'table({{ r = random_uniform(csv("g.csv"), {lo}, {hi}, {{ random_state = {seed} }}) }})',
         pd.DataFrame({"r": np.random.default_rng(seed).uniform(lo, hi, len(g))}))
case("random_uniform round", 'table({ r = round(random_uniform(csv("g.csv"), 1, 100, {}), 2) })',
     pd.DataFrame({"r": np.random.default_rng(0).uniform(1, 100, len(g)).round(2)}))
for d in (0, 1, 2):
    case(f"round {d}", f'table({{ v = round(csv("half.csv").v, {d}), w = round(csv("half.csv").w, {d}) }})', half.round(d))
case("date_ordinal", 'table({ d = date_ordinal(csv("days.csv").day) })', pd.DataFrame({"d": [datetime.date.fromisoformat(d).toordinal() for d in days.day]}))
many = csv("many.csv")
case("mean and sum of floats", 'table({ m = mean(csv("many.csv").v), s = sum(csv("many.csv").v), n = mean(csv("many.csv").n), id = head(csv("many.csv").n, 1) })',
     pd.DataFrame({"m": [many.v.mean()], "s": many.v.sum(), "n": many.n.mean(), "id": 0}))
case("condition of numbers", 'table({ a = csv("half.csv").w > 0 ? 1 : csv("half.csv").v, b = csv("half.csv").w > 4 ? csv("half.csv").w : 0.5, c = csv("half.csv").w > 4 ? csv("half.csv").w : 0 })',
     pd.DataFrame({"a": np.where(half.w > 0, 1, half.v), "b": np.where(half.w > 4, half.w, 0.5), "c": np.where(half.w > 4, half.w, 0)}))
recent = pd.to_datetime(days.day.iloc[:3])
case("date_ordinal week", 'filter(head(csv("days.csv"), 3), date_ordinal(head(csv("days.csv"), 3).day) >= max(date_ordinal(head(csv("days.csv"), 3).day)) - 7)',
     days.iloc[:3][recent >= recent.max() - pd.Timedelta(days=7)])

with open(here / "groups.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"python": sys.version.split()[0], "pandas": pd.__version__, "numpy": np.__version__}, "raw": RAW, "cases": CASES}, f, indent=1)
    f.write("\n")
