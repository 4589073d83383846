"""Makes pandas.json: expressions of the prepare language and what pandas gives
for the same thing, written by to_csv(index=False)."""
import io
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import pandas as pd

RAW = {
    "drives/2021-1-4-b/Pixel/truth.csv": "t,lat,lng\n1602993977478,37.47089720114534117,-122.04473288682544307\n1602993978478,37.4710298431,\n",
    "drives/2021-1-4-b/Mi8/truth.csv": "lat,note,lng,t\n37.45353160189863218,x,-122.10704220062154945,1603572811189\n",
    "drives/2021-1-4/Pixel/truth.csv": "t,lat,lng\n",
    "drives/2021-10-04/Pixel/truth.csv": "t,lat,lng\n1.5,37,-122\n2,NA,-123\n",
    "drives/notes.txt": "no folder\n",
    "drives/2021-1-4/Pixel/more/deep.txt": "",
    "typed.jsonl": "\n".join([
        '{"id":"007","n":1.0,"x":0.1234567890123456789,"flag":true,"a/b":{"c":[{"~":5},null]},"list":[1,2.5,3],"twice":["x","y","z"]}',
        '{"id":"12","n":2,"x":1e23,"flag":false,"a/b":{"c":[]},"list":[0.30000000000000004],"twice":[null],"more":1}',
        '  {"id":" 3 ","n":-0.0,"x":null,"flag":null,"list":[],"twice":[],"more":"x"}\t',
        '{"id":"1_0","x":2,"n":9,"flag":true,"a/b":{"c":[{"~":7.25}]},"list":null,"twice":null}',
    ]) + "\n",
    "list.json": '[{"n": 5}, {"n": 6}, {"n": 7}]',
    "counts.csv": "k,n\na,2\nb,0\nc,3\n",
    "chunks.jsonl": "".join('{"key":%s,"v":%d}\n' % (k, i) for i, k in enumerate(["1", "2.0", "null", "3", '"x"', "4", '"5"'])),
}
work = pathlib.Path(tempfile.mkdtemp())
for name, text in RAW.items():
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_bytes(text.encode())
CASES = []


def case(name, expr, want):
    if isinstance(want, pd.Series):
        want = want.to_frame()
    CASES.append({"name": name, "expr": expr, "want": want.to_csv(index=False)})


def folders(pattern):
    found = sorted(p for p in work.glob(pattern) if p.is_dir())
    return pd.DataFrame({"path": [str(p.relative_to(work)) for p in found], "folder": [p.parent.name if p.parent != work else "" for p in found],
                         "name": [p.name for p in found], "stem": [p.stem for p in found]})


case("folders", 'folders("drives/*")', folders("drives/*"))
case("folders of folders", 'folders("drives/*/*")', folders("drives/*/*"))
case("folders at any depth", 'folders("drives/*/Pixel/**")', folders("drives/*/Pixel/**/*"))
case("folders without match", 'folders("drives/*/none*")', folders("drives/*/none*"))

truths = sorted(work.glob("drives/*/*/truth.csv"))
keep = ["t", "lat", "lng"]
many = {p: pd.read_csv(p) for p in truths}
exact = {p: pd.read_csv(p, float_precision="round_trip") for p in truths}


def joined(tables):
    return pd.concat([t.assign(path=str(p.relative_to(work)))[["path"] + keep] for p, t in tables], ignore_index=True)


case("csv_files", 'csv_files(files("drives/*/*/truth.csv").path, { columns = ["t", "lat", "lng"] })', joined(exact.items()))
case("csv_files fast floats", 'csv_files(files("drives/*/*/truth.csv").path, { columns = ["t", "lat", "lng"], floats = "fast" })', joined(many.items()))
two = [(p, t) for p, t in exact.items() if "2021-1-4-b" in str(p)]
case("csv_files of whole numbers", 'csv_files(files("drives/2021-1-4-b/*/truth.csv").path, { columns = ["t", "lat", "lng"] })', joined(two))
case("csv columns", 'csv("drives/2021-1-4-b/Mi8/truth.csv", { columns = ["t", "note"] })', two[0][1][["t", "note"]])

frame = pd.read_json(work / "typed.jsonl", lines=True)
ROWS = 'pandas_json_lines("typed.jsonl")'
case("pandas_json_lines columns", f'table({{ id = {ROWS}.id, n = {ROWS}.n, x = {ROWS}.x, flag = {ROWS}.flag, more = {ROWS}.more }})',
     frame[["id", "n", "x", "flag", "more"]])
case("pandas_json_lines types", 'table({ id = pandas_json_lines("typed.jsonl", { types = { id = "text", x = "text", flag = "text" } }).id, '
     'x = pandas_json_lines("typed.jsonl", { types = { x = "text" } }).x, flag = pandas_json_lines("typed.jsonl", { types = { flag = "text" } }).flag })',
     frame[["id", "x", "flag"]].astype(str))
case("pandas_json_lines filter", f'table({{ n = filter({ROWS}, {ROWS}.n > 1).n }})', frame[frame.n > 1][["n"]])
case("pandas_json_lines where_in", f'table({{ id = where_in({ROWS}, "n", [1, 9]).id }})', frame[frame.n.isin([1, 9])][["id"]])
chunks = pd.concat([c.assign(key=c.key.astype(str)) for c in pd.read_json(work / "chunks.jsonl", lines=True, chunksize=2)])
case("pandas_json_lines chunk", 'table({ key = pandas_json_lines("chunks.jsonl", { chunk = 2, types = { key = "text" } }).key })', chunks[["key"]])


def pointer(record, *path):
    for step in path:
        try:
            record = record[step]
        except (KeyError, IndexError, TypeError):
            return None
    return record


deep = pd.DataFrame({"first": [pointer(r, "a/b", "c", 0, "~") for r in frame.to_dict("records")], "id": frame.id})
case("json_pointers", f'json_pointers({ROWS}, {{ first = "/a~1b/c/0/~0", id = "/id" }})', deep)
case("json_pointers of records", 'json_pointers(json_lines("typed.jsonl"), { id = "/id", item = "/list/1" })',
     pd.DataFrame({"id": [json.loads(t)["id"] for t in RAW["typed.jsonl"].splitlines()],
                   "item": [pointer(json.loads(t), "list", 1) for t in RAW["typed.jsonl"].splitlines()]}))
case("json head", 'table({ n = json("list.json", { head = 2 }).n })', pd.DataFrame(json.loads(RAW["list.json"])[:2]))
exploded = frame[["id", "list", "twice"]][frame["list"].map(lambda x: x != [])].explode(["list", "twice"])
exploded["list"] = exploded["list"].astype(float)
case("explode", f'explode(select_fields({ROWS}, ["id", "list", "twice"]), ["list", "twice"])', exploded)
case("repeat", 'repeat(csv("counts.csv"), csv("counts.csv").n)', pd.read_csv(io.StringIO(RAW["counts.csv"])).pipe(lambda t: t.loc[t.index.repeat(t.n)]))
case("repeat by one number", 'repeat(csv("counts.csv").k, 2)', pd.Series(np.repeat(["a", "b", "c"], 2), name="k"))
case("isna", 'table({ m = isna(csv("drives/2021-10-04/Pixel/truth.csv").lat) })',
     pd.DataFrame({"m": pd.read_csv(work / "drives/2021-10-04/Pixel/truth.csv").lat.isna()}))

versions = {"pandas": pd.__version__, "numpy": np.__version__}
(pathlib.Path(__file__).parent / "pandas.json").write_text(
    json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "versions": versions, "raw": RAW, "cases": CASES}, indent=1, ensure_ascii=False) + "\n")
