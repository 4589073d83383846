"""Reads a table back that mleflow export wrote in every format, and compares.

    notebook.py NAME [packages]

NAME.csv and NAME.json are read with the standard library alone; with packages,
all four formats with pandas, polars and pyarrow. Prints "same" at the end.
"""

import csv
import datetime
import json
import math
import sys

name, packages = sys.argv[1], sys.argv[2:]

with open(name + ".json", encoding="utf-8") as f:
    rows = json.load(f)
assert rows and all(list(r) == list(rows[0]) for r in rows), "the columns differ from row to row"


def same(column, got, want):
    """Whether a cell is what the JSON has."""
    if want is None:
        return got is None or got == "" or (isinstance(got, float) and math.isnan(got))
    if want in ("inf", "-inf"):
        return float(got) == float(want)
    if isinstance(got, datetime.datetime):
        return column == "started" and got == datetime.datetime.fromisoformat(want.replace("Z", "+00:00"))
    if isinstance(got, (int, float)) and isinstance(want, str):
        return column == "seed" and got == int(want)
    if isinstance(want, bool):
        return got in (want, str(want))
    if isinstance(want, (int, float)):
        return float(got) == float(want)
    return got == want or got == "'" + want


def compare(who, read):
    assert len(read) == len(rows), f"{who} reads {len(read)} rows, not {len(rows)}"
    for i, (got, want) in enumerate(zip(read, rows)):
        assert list(got) == list(want), f"{who}: the columns are {list(got)}"
        for c in want:
            assert same(c, got[c], want[c]), f"{who}: row {i}, {c} is {got[c]!r}, not {want[c]!r}"


with open(name + ".csv", encoding="utf-8", newline="") as f:
    compare("csv", list(csv.DictReader(f)))

if packages:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    def python(frame):
        return frame.astype(object).where(frame.notna(), None).to_dict("records")

    compare("pandas, parquet", python(pd.read_parquet(name + ".parquet")))
    compare("pandas, arrow", python(pd.read_feather(name + ".arrow")))
    # Seeds are integers and times are timestamps in Parquet and Arrow, strings in CSV and JSON.
    compare("pandas, csv", python(pd.read_csv(name + ".csv", dtype={c: "str" for c in rows[0] if not any(isinstance(r[c], (int, float)) for r in rows)}, keep_default_na=True)))
    compare("pandas, json", python(pd.DataFrame(rows)))
    compare("polars, parquet", pl.read_parquet(name + ".parquet").to_dicts())
    compare("polars, arrow", pl.read_ipc(name + ".arrow").to_dicts())
    types = {c: t for c, t in pl.read_parquet(name + ".parquet").schema.items() if t in (pl.String, pl.Float64, pl.Int64)}
    compare("polars, csv", pl.read_csv(name + ".csv", schema_overrides=types).to_dicts())
    compare("polars, json", pl.DataFrame(rows, infer_schema_length=None).to_dicts())
    compare("pyarrow, parquet", pa.parquet.read_table(name + ".parquet").to_pylist())
    compare("pyarrow, arrow", pa.feather.read_table(name + ".arrow").to_pylist())
    kinds = {str(f.type) for f in pa.parquet.read_schema(name + ".parquet")}
    assert kinds <= {"string", "double", "int64", "bool", "timestamp[us, tz=UTC]"}, kinds

print("same")
