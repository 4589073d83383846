"""Makes streams.json: expressions on rows that stay in files, and what pymongo,
pyarrow, pandas or Python give for the same thing."""
import base64
import io
import json
import os
import pathlib
import sys

import bson
import fastparquet
import numpy as np
import pandas as pd
import pyarrow
import pymongo

here = pathlib.Path(__file__).parent
RAW, BINARY, CASES = {}, {}, []


def case(name, expr, want):
    if isinstance(want, pd.Series):
        want = want.to_frame()
    CASES.append({"name": name, "expr": expr, "want": want.to_csv(index=False)})


# BSON
docs = [{"_id": 10 + i * 7 % 23, "n": [i, bson.Int64(i * 10**12), i][i % 3], "x": i / 3, "s": ["a,b", "é", None][i % 3], "b": i % 2 == 0,
         "imgs": [{"picture": bytes(range(i))}]} for i in range(23)]
docs[4]["oid"] = bson.ObjectId("0102030405060708090a0b0c")
del docs[5]["s"]
BINARY["docs.bson"] = b"".join(bson.encode(d) for d in docs)
back = list(bson.decode_iter(BINARY["docs.bson"]))
d = pd.DataFrame([{k: v for k, v in r.items() if k != "imgs"} for r in back])
d["oid"] = d["oid"].astype(object).where(d["oid"].notna(), None)
case("bson fields", 'select(bson("docs.bson"), "n", "_id", "x", "s", "b")', d[["n", "_id", "x", "s", "b"]])
case("bson column", 'bson("docs.bson").oid', d["oid"])
case("bson where_in", 'select(where_in(bson("docs.bson"), "_id", [10, 17.0, 99, 31]), "_id", "s")', d[d["_id"].isin([10, 17.0, 99, 31])][["_id", "s"]])
case("bson where_not_in twice", 'where_not_in(where_in(bson("docs.bson"), "b", [true]), "_id", [10, 31])._id', d[d["b"] & ~d["_id"].isin([10, 31])]["_id"])
case("bson head", 'head(where_in(bson("docs.bson"), "b", [false]), 3).n', d[~d["b"]]["n"].head(3))
case("bson reverse", 'select(reverse(where_in(bson("docs.bson"), "b", [false])), "_id", "x")', d[~d["b"]][["_id", "x"]][::-1])
case("bson take again", 'take(reverse(bson("docs.bson")), sequence([1, 2, 3, 4], { start = 5 }))._id', d["_id"][::-1].iloc[5:9])

# Lines of a text file
r = np.random.RandomState(3)
SPACES = [" ", " ", " ", "  ", "\t", "\u00a0", "\x1c", "\u2028", "\x85"]
TEXT = ""
for i in range(400):
    words = ["".join(r.choice(list('abcé"中,.')) for _ in range(r.randint(1, 6))) for _ in range(r.choice([0, 1, 2, 3, 3, 4, 9]))]
    TEXT += "".join(r.choice(SPACES) + w for w in words) + r.choice(["", " ", "\x1f"]) + r.choice(["\n", "\n", "\r\n", "\r"])
TEXT += "the last line has no end"
RAW["lines.txt"] = TEXT
(here / "work").mkdir(exist_ok=True)
(here / "work" / "lines.txt").write_bytes(TEXT.encode())
lines = [line.rstrip("\n") for line in open(here / "work" / "lines.txt", encoding="utf-8")]
column = lambda texts: pd.Series(texts, name="line", dtype=object)
case("stream_lines", 'stream_lines("lines.txt").line', column(lines))
case("stream_lines head", 'head(stream_lines("lines.txt"), 7).line', column(lines[:7]))
case("stream_lines head beyond", 'sequence(head(stream_lines("lines.txt"), 700))', pd.Series(range(len(lines)), name="sequence"))
case("stream_lines any order", 'take(stream_lines("lines.txt"), integer(column([7, 3, 7, 0]))).line', column([lines[i] for i in (7, 3, 7, 0)]))
case("omit lines", 'omit(head(stream_lines("lines.txt"), 20), integer(column([7, 3, 7, 0]))).line', column(list(np.delete(np.array(lines[:20], object), [7, 3, 7, 0]))))
case("omit twice", 'omit(omit(stream_lines("lines.txt"), integer(column([1, 2]))), integer(column([0, 395]))).line', column(list(np.delete(np.delete(np.array(lines, object), [1, 2]), [0, 395]))))
case("omit rows", 'omit(table({ a = sequence([1, 2, 3, 4]) }), integer(column([3, 1])))', pd.DataFrame({"a": np.delete(np.arange(4), [3, 1])}))
case("strip", 'table({ line = strip(stream_lines("lines.txt").line) })', column([line.strip() for line in lines]))


def cloze(lines, share, seed):
    g = np.random.RandomState(seed)
    out = []
    for i, line in enumerate(lines):
        if g.uniform() <= share and len(line.split()) > 2:
            out.append((i, line, g.randint(1, len(line.split()) - 1)))
    return pd.DataFrame(out, columns=["position", "line", "word"])


for share, seed in [(0.3, 0), (1.0, 7), (0.02, 5)]:
    t = cloze(lines, share, seed)
    case(f"draw_cloze {share}", f'draw_cloze(stream_lines("lines.txt"), {share}, {{ random_state = {seed} }})', t)
case("draw_cloze column", 'draw_cloze(stream_lines("lines.txt").line, 0.5)', cloze(lines, 0.5, 0))
t = cloze(lines, 0.6, 2)
gone = [" ".join(np.delete(np.array(text.split(), object), k)) for text, k in zip(t["line"], t["word"])]
case("remove_word", 'table({ line = remove_word(draw_cloze(stream_lines("lines.txt"), 0.6, { random_state = 2 }).line, draw_cloze(stream_lines("lines.txt"), 0.6, { random_state = 2 }).word) })', column(gone))
case("remove_word constant", 'table({ line = remove_word(draw_cloze(stream_lines("lines.txt"), 0.6, { random_state = 2 }).line, 1) })',
     column([" ".join(text.split()[:1] + text.split()[2:]) for text in t["line"]]))

# Parquet
r = np.random.RandomState(5)
n = 300
p = pd.DataFrame({"batch": r.randint(1, 9, n), "id": np.arange(n, dtype="int64") * 10**15 - 7, "x": r.normal(size=n), "small": r.randint(-9, 9, n).astype("int8"),
                  "unsigned": r.randint(0, 9, n).astype("uint64") + np.uint64(2**63), "text": r.choice(["a,b", "é\n", "", "zz"], n), "flag": r.rand(n) < 0.5,
                  "class": pd.Categorical(r.choice(["low", "high"], n))})
p["gaps"] = p["x"].where(r.rand(n) < 0.7)
p["none"] = p["text"].where(p["batch"] > 2, None)
p["count"] = pd.array(p["batch"].where(p["batch"] > 1).tolist(), dtype="Int64")
for name, kw in {"plain": dict(compression=None, use_dictionary=False), "snappy": dict(compression="snappy", row_group_size=70), "zstd": dict(compression="zstd", data_page_version="2.0", row_group_size=64),
                 "gzip": dict(compression="gzip", write_statistics=False, data_page_size=100), "fastparquet": dict(engine="fastparquet", row_group_offsets=[0, 100])}.items():
    kept = p.drop(columns=["count"]) if "engine" in kw else p
    f = io.BytesIO()
    if "engine" in kw:
        path = here / "one.parquet"
        kept.to_parquet(path, index=False, **kw)
        f.write(path.read_bytes())
        path.unlink()
    else:
        kept.to_parquet(f, index=False, **kw)
    BINARY[f"{name}.parquet"] = f.getvalue()
    back = pd.read_parquet(io.BytesIO(f.getvalue()), engine="pyarrow")
    back["count"] = back["count"].astype(float) if "count" in back else None
    back = back if "engine" not in kw else back.drop(columns=["count"])
    case(f"parquet {name}", f'parquet("{name}.parquet")', back)
    case(f"parquet {name} where_in", f'drop(where_in(parquet("{name}.parquet"), "batch", [3, 4.0, 11]), "text", "x")', back[back["batch"].isin([3, 4])].drop(columns=["text", "x"]))
back = pd.read_parquet(io.BytesIO(BINARY["snappy.parquet"]), engine="pyarrow")
case("parquet column", 'parquet("snappy.parquet").none', back["none"])
case("parquet select", 'select(where_not_in(parquet("snappy.parquet"), "text", ["zz", ""]), "small", "batch")', back[~back["text"].isin(["zz", ""])][["small", "batch"]])
case("parquet head", 'head(where_in(parquet("snappy.parquet"), "flag", [true]), 9).id', back[back["flag"]]["id"].head(9))
case("parquet any order", 'select(where_in(reverse(parquet("zstd.parquet")), "batch", [2]), "id", "x")', back[back["batch"] == 2][["id", "x"]][::-1])
case("parquet repeated", 'assign(take(select(parquet("zstd.parquet"), "id", "none"), sequence([7, 3, 7])), { k = 1 })', back[["id", "none"]].iloc[[0, 1, 2]].assign(k=1))
case("parquet none left", 'where_in(select(parquet("gzip.parquet"), "id", "batch", "text"), "batch", [99])', back[["id", "batch", "text"]].head(0))
f = io.BytesIO()
back.set_index("id")[["x", "text"]].to_parquet(f)
BINARY["index.parquet"] = f.getvalue()
case("parquet index", 'parquet("index.parquet")', pd.read_parquet(io.BytesIO(f.getvalue())).reset_index(drop=True))

json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"fastparquet": fastparquet.__version__, "pyarrow": pyarrow.__version__, "pandas": pd.__version__, "numpy": np.__version__, "pymongo": pymongo.version},
           "raw": RAW, "binary": {k: base64.b64encode(v).decode() for k, v in BINARY.items()}, "cases": CASES},
          open(here / "streams.json", "w"), ensure_ascii=False, indent=1)
