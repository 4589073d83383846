"""Makes pandas.json: expressions of the prepare language and what pandas gives
for the same thing, written by to_csv(index=False)."""
import json
import pathlib
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

versions = {"pandas": pd.__version__, "numpy": np.__version__}
(pathlib.Path(__file__).parent / "pandas.json").write_text(
    json.dumps({"versions": versions, "raw": RAW, "cases": CASES}, indent=1, ensure_ascii=False) + "\n")
