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

json.dump({"versions": {"pandas": pd.__version__, "numpy": np.__version__, "pymongo": pymongo.version},
           "raw": RAW, "binary": {k: base64.b64encode(v).decode() for k, v in BINARY.items()}, "cases": CASES},
          open(here / "streams.json", "w"), ensure_ascii=False, indent=1)
