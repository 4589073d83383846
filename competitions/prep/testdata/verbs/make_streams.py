"""Makes streams.json: expressions on rows that stay in files, and what pymongo,
pyarrow, pandas or Python give for the same thing."""
import base64
import json
import pathlib

import bson
import numpy as np
import pandas as pd
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

json.dump({"versions": {"pandas": pd.__version__, "numpy": np.__version__, "pymongo": pymongo.version},
           "raw": RAW, "binary": {k: base64.b64encode(v).decode() for k, v in BINARY.items()}, "cases": CASES},
          open(here / "streams.json", "w"), ensure_ascii=False, indent=1)
