"""Makes integers.json: expressions on columns of integers around 2^53, 2^63 and
2^64, of floats of that size and of booleans, with and without gaps, and what
pandas gives for them. The columns are drawn with a fixed seed."""
import io
import json
import operator
import os
import pathlib
import random
import sys

import numpy as np
import pandas as pd
import sklearn
from sklearn.model_selection import train_test_split

BIG, ALL = 2**63, 2**64
draw = random.Random(48)
POOLS = {
    "u": [5, 2**53 + 1, BIG - 1, BIG, BIG + 1, BIG + 2, ALL - 2, ALL - 1],
    "v": [0, 3, 2**53, BIG - 1, BIG, BIG + 1, ALL - 1],
    "i": [-1, 0, 3, 2**53, 2**53 + 1, BIG - 2, BIG - 1, 1 - BIG, -2**53 - 1],
    "j": [-2, 1, 7, 2**53 + 1, BIG - 1, BIG - 3, 5],
    "f": ["-1.0", "0.5", "5.0", "9007199254740992.0", "9.223372036854775808e18", "1.8446744073709552e19"],
    "g": ["", "-1.0", "2.5", "9007199254740994.0", "9.223372036854775808e18"],
    "h": ["", -1, 3, 2**53 + 1],
    "b": ["True", "False"],
    "c": ["True", "False", ""],
    "ug": ["", BIG, ALL - 1],
    "un": [-1, BIG, ALL - 1],
    "w": [1, ALL, ALL - 1],
}
MUST = {"u": BIG, "v": ALL - 1, "c": "", "h": "", "g": "", "ug": "", "w": ALL, "un": BIG, "f": "0.5"}
RAW = {}
for n, rows in enumerate((13, 7)):
    cells = {}
    for name, pool in POOLS.items():
        column = [draw.choice(pool) for _ in range(rows)]
        if name in MUST:
            column[draw.randrange(rows)] = MUST[name]
        if name == "ug":
            column[1] = BIG
        if name == "c":
            column[:3] = draw.sample(["True", "False", ""], 3)
        cells[name] = column
    lines = [",".join(["id", *cells])] + [",".join([str(k), *(str(c[k]) for c in cells.values())]) for k in range(rows)]
    RAW[f"t{n}.csv"] = "\n".join(lines) + "\n"


def csv(name, **kw):
    return pd.read_csv(io.StringIO(RAW[name]), float_precision="round_trip", **kw)


CASES = []
RAISED = (TypeError, ValueError, NotImplementedError, ZeroDivisionError, OverflowError, pd.errors.InvalidIndexError)


def answer(want):
    """What a function gives, None if pandas raises or integers have more than 64 bits,
    which the language refuses."""
    try:
        want = want()
    except RAISED:
        return None
    if isinstance(want, pd.Series) and want.dtype == object and any(isinstance(x, int) and not -BIG <= x < ALL for x in want):
        return None
    return want


def case(expr, want):
    want = answer(want)
    if want is not None:
        CASES.append({"expr": expr, "want": want.to_csv(index=False)})


def columns(exprs):
    """A case of a table of columns, each an expression and what gives its cells."""
    wants = {expr: answer(want) for expr, want in exprs.items()}
    wants = {expr: pd.Series(np.asarray(want)) for expr, want in wants.items() if want is not None}
    members = ", ".join(f"x{k} = {expr}" for k, expr in enumerate(wants))
    case(f"table({{ {members} }})", lambda: pd.DataFrame({f"x{k}": want for k, want in enumerate(wants.values())}))


COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def remainders(a, b):
    """Remainders that the language has: of integers of one type, none by zero."""
    kinds = [np.asarray(x).dtype.kind if not isinstance(x, int) or isinstance(x, bool) else "n" for x in (a, b)]
    out = operator.mod(a, b)
    if not np.all(np.asarray(b)) or kinds[0] == kinds[1] == "b" or (out.dtype.kind not in "iu" and "O" not in kinds) or "f" in kinds:
        raise ValueError
    return out


ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": remainders}
SCALARS = {"3": 3, "-3": -3, str(BIG): BIG, str(BIG + 1): BIG + 1, str(ALL - 1): ALL - 1, "2.5": 2.5, "true": True, 'real(9007199254740993)': float(2**53 + 1)}
NUMBERS = ["u", "v", "i", "j", "f", "g", "h", "b", "c"]
LISTS = {
    f"[{BIG + 1}, {ALL - 1}]": [BIG + 1, ALL - 1], f"[5, {BIG}]": [5, BIG], f"[-1, {BIG}]": [-1, BIG], "[-1]": [-1], "[true]": [True],
    f"[2.5, {2**53 + 1}]": [2.5, 2**53 + 1], f"[0.5, {BIG + 1}]": [0.5, BIG + 1],
}


for name in RAW:
    t = csv(name)
    T = f'csv("{name}")'
    case(T, lambda: t)
    for a in NUMBERS:
        for b in NUMBERS:
            x, y = f"{T}.{a}", f"{T}.{b}"
            columns({f"{x} {sign} {y}": lambda op=op: op(t[a], t[b]) for sign, op in (COMPARE | ARITHMETIC).items()} | {
                f"{T}.b ? {x} : {y}": lambda: np.where(t.b, t[a], t[b]),
                f"isin({x}, {y})": lambda: t[a].isin(t[b]),
                f"map({x}, list({y}), list({T}.id))": lambda: t[a].map(dict(zip(t[b].tolist(), t.id))),
            })
            if a != b:
                case(f'where_in(select({T}, "id", "{a}"), "{a}", {y})', lambda: t[t[a].isin(t[b])][["id", a]])
            columns({f"concat({x}, {y})": lambda: pd.concat([t[a], t[b]], ignore_index=True)})
            case(f'join_on(table({{ k = {x}, n = {T}.id }}), table({{ k = {y}, m = {T}.id }}), "k")',
                 lambda: pd.merge(pd.DataFrame({"k": t[a], "n": t.id}), pd.DataFrame({"k": t[b], "m": t.id}), on="k", how="left"))
        for text, s in SCALARS.items():
            columns({f"{x} {sign} {text}": lambda op=op: op(t[a], s) for sign, op in (COMPARE | ARITHMETIC).items()}
                    | {f"{text} {sign} {x}": lambda op=op: op(s, t[a]) for sign, op in ARITHMETIC.items()}
                    | {f"{T}.b ? {x} : {text}": lambda: np.where(t.b, t[a], s)})
        columns({f"isin({x}, {text})": lambda v=v: t[a].isin(v) for text, v in LISTS.items()}
                | {f"map({x}, {text}, {[*range(len(v))]})": lambda v=v: t[a].map(dict(zip(v, range(9)))) for text, v in LISTS.items()})
        columns({f"-{x}": lambda: -t[a],
                 f"ngroup({x})": lambda: t[a].groupby(t[a], dropna=False).ngroup() if a != "c" else None,
                 f"ngroup({x}, {{ sort = false }})": lambda: t[a].groupby(t[a], dropna=False, sort=False).ngroup(),
                 f"group_size({x})": lambda: t[a].groupby(t[a], dropna=False).transform("size"),
                 f"cumcount({x})": lambda: t.groupby(a, dropna=False).cumcount()}
                | {f"fillna({x}, {text})": lambda v=v: t[a].fillna(v) for text, v in (("7", 7), (str(BIG), BIG), ("false", False), ("2.5", 2.5))})
        for verb in ("sum", "mean", "min", "max"):
            case(f'fill(select(head({T}, 1), "id"), "id", {verb}({x}))', lambda: t.head(1)[["id"]].assign(id=getattr(t[a], verb)()))
        columns({f"unique({x})": lambda: pd.Series(t[a].unique())})
        columns({f"sort(unique({x}))": lambda: pd.Series(sorted(t[a].dropna().unique()) + [np.nan] * t[a].hasnans, dtype=t[a].dtype)})
        case(f'group_first(select({T}, "{a}", "id"), "{a}")', lambda: t[[a, "id"]].groupby(a).first().reset_index())
        case(f'group_join(table({{ k = {x}, v = {T}.u }}), "k", "v", " ")',
             lambda: t.assign(k=t[a], v=t.u.astype(str)).groupby("k").v.agg(" ".join).reset_index())
        case(f'sort_values(select({T}, "{a}", "id"), "{a}", "id")', lambda: t.sort_values([a, "id"])[[a, "id"]])
        classes = ["5", str(BIG), str(ALL - 1), "-1"]
        case(f'one_hot(select({T}, "{a}"), "{a}", {json.dumps(classes)})', lambda: pd.DataFrame({k: (t[a].astype(str) == k).astype(int) for k in classes}))
        if t[a].dtype.kind in "iu":
            columns({f"cumsum({x})": lambda: t[a].cumsum(), f"integer({x})": lambda: t[a].map(int), f"integer(text({x}))": lambda: t[a].astype(str).map(int),
                     f"real({x})": lambda: t[a].astype(float), f"round({x}, 2)": lambda: t[a].round(2), f"text({x})": lambda: t[a].astype(str)})
    for a, b in (("u", "v"), ("i", "j"), ("u", "i"), ("f", "u")):
        columns({f'idxmax(select({T}, "{a}", "{b}"))': lambda: t[[a, b]].idxmax(axis=1)})
    for text, classes in (("{T}.id % 3 * 9 - 9", t.id % 3 * 9 - 9), (f"{BIG} + {{T}}.id % 3 - 1", BIG + t.id % 3 - 1)):
        text = text.replace("{T}", T)
        case(f'train_test_split({T}.id, {{ test_size = 0.5, random_state = 3, stratify = {text} }}).test',
             lambda: train_test_split(t.id, test_size=0.5, random_state=3, stratify=classes)[1].to_frame())
RAW["types.csv"] = f"a,b,u,z\nTrue,True,{BIG},0\nfalse,,5,1\n"
RAW["big.json"] = json.dumps([{"a": BIG + k, "b": k - 1} for k in range(3)])
wide = {"int": int, "float": float, "bool": bool, "text": str}
for kind, dtype in wide.items():
    for column in "abuz":
        case(f'select(csv("types.csv", {{ types = {{ {column} = "{kind}" }} }}), "{column}")', lambda: csv("types.csv", dtype={column: dtype})[[column]])
frame = pd.DataFrame(json.loads(RAW["big.json"]))
case('table({ a = json("big.json").a, b = json("big.json").b })', lambda: frame)
columns({'json("big.json").a - json("big.json").b': lambda: frame.a - frame.b})

versions = {"pandas": pd.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}
with open(pathlib.Path(__file__).parent / "integers.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "versions": versions, "raw": RAW, "cases": CASES}, f, indent=1)
    f.write("\n")
