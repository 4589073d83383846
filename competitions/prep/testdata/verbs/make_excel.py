"""Makes excel.json: Excel files, PNG masks and JSON lists in cells, and what pandas, Pillow and numpy read of them. Files are raw in base64."""
import base64
import datetime
import io
import json
import os
import pathlib
import platform
import sys
import tempfile

import numpy as np
import openpyxl
import pandas as pd
import PIL
import xlsxwriter
from PIL import Image

work = pathlib.Path(tempfile.mkdtemp())
CASES = []
rng = np.random.default_rng(5)


def case(name, expr, want):
    CASES.append({"name": name, "expr": expr, "want": pd.DataFrame(want).to_csv(index=False)})


# By openpyxl: types, dates, gaps, strings that look otherwise, names that come twice.
book = openpyxl.Workbook()
sheet = book.active
sheet.title = "first & \"é\""
day = datetime.datetime
for row in [
    ["n", "x", "s", "day", "moment", "clock", "mixed", None, "n", "text"],
    [1, 0.1 + 0.2, "a, \"b\"\nc", day(2020, 2, 29), day(2021, 1, 1, 12, 30, 5), datetime.time(10, 30), 1, None, "x", "007"],
    [2, 1e-7, " lead", day(1999, 12, 31), day(2021, 1, 2), datetime.time(0, 0, 1), "two", 5, None, "12"],
    [None, -3, "NA", None, day(1900, 1, 5, 6), None, "three", None, "y", "13"],
    [],
    [4, 5e15, "<&>é中", day(2020, 3, 1), day(2021, 5, 5, 23, 59, 59), datetime.time(23, 59, 59), 2.5, None, None, "0"],
]:
    sheet.append(row)
sheet["P9"] = None
sheet["B8"].number_format = "0.00"
other = book.create_sheet("two words")
other.append(["only"])
for v in [3, None, 4]:
    other.append([v])
far = book.create_sheet("far")
far["C2"], far["C3"], far["E3"], far["E5"] = "h", 1, 2.0, 3
bare = book.create_sheet("bare")
for i in range(4):
    bare.append([i, i / 4, f"r{i}", i % 2 == 0])
(work / "book.xlsx").parent.mkdir(exist_ok=True)
book.save(work / "book.xlsx")
# By xlsxwriter: inline strings, formulas with values, errors, formats of its own, the epoch 1904, rich strings.
for name, options in (("inline.xlsx", {"constant_memory": True}), ("epoch.xlsx", {"date_1904": True})):
    book = xlsxwriter.Workbook(work / name, options)
    sheet = book.add_worksheet()
    formats = [book.add_format({"num_format": f}) for f in ("d mmmm yyyy", '[$-409]"day" 0.0', "[h]:mm:ss", '0.0 "ms"', "yyyy-mm-dd hh:mm", "#,##0;[Red]-0", "m/d/yy")]
    sheet.write_row(0, 0, ["s", "f", "e", "day", "quoted", "span", "unit", "moment", "red", "us", "rich"])
    bold = book.add_format({"bold": True})
    for i in range(1, 6):
        sheet.write_string(i, 0, f"row {i}")
        sheet.write_formula(i, 1, "=1+1", None, i / 2)
        sheet.write_formula(i, 2, "=1/0", None, "#DIV/0!")
        for k, f in enumerate(formats):
            sheet.write_number(i, 3 + k, [43000 + i, i * 1.5, 2 + i, i, 44000.25 + i, -i, 44001 + i][k], f)
        sheet.write_rich_string(i, 10, "a", bold, f" b{i}", " c ")
    book.close()


def excel(expr, path, **kw):
    case(expr, expr, pd.read_excel(work / path, **kw))


excel('excel("book.xlsx", {})', "book.xlsx")
excel('excel("book.xlsx", { types = { text = "text" } })', "book.xlsx", dtype={"text": str})
for name in ("two words", "far", "bare"):
    excel(f'excel("book.xlsx", {{ sheet = "{name}" }})', "book.xlsx", sheet_name=name)
excel('excel("book.xlsx", { sheet = "bare", header = false, names = ["a", "b", "c", "d"] })', "book.xlsx", sheet_name="bare", header=None, names=["a", "b", "c", "d"])
excel('excel("book.xlsx", { columns = ["x", "n"] })', "book.xlsx", usecols=["n", "x"])
CASES[-1]["want"] = pd.read_excel(work / "book.xlsx")[["x", "n"]].to_csv(index=False)
excel('excel("book.xlsx", { missing = false, columns = ["s"] })', "book.xlsx", na_filter=False, usecols=["s"])
excel('drop(excel("inline.xlsx", {}), "span")', "inline.xlsx", usecols=lambda c: c != "span")
excel('drop(excel("epoch.xlsx", {}), "span")', "epoch.xlsx", usecols=lambda c: c != "span")

# Masks of several modes.
(work / "masks").mkdir()
for i, (mode, high, size) in enumerate([("L", 256, (7, 5)), ("1", 2, (9, 4)), ("L", 3, (1, 6)), ("RGB", 2, (5, 5)), ("P", 4, (8, 3)), ("LA", 2, (4, 4)), ("L", 2, (5, 1)), ("L", 1, (3, 3))]):
    a = rng.integers(0, high, (size[1], size[0], {"RGB": 3, "LA": 2}.get(mode, 1)), dtype=np.uint8).squeeze(2) if mode not in ("RGB", "LA") else \
        rng.integers(0, high, (size[1], size[0], {"RGB": 3, "LA": 2}[mode]), dtype=np.uint8)
    image = Image.fromarray(a * 255).convert("1") if mode == "1" else Image.fromarray(a, mode=mode)
    if mode == "P":
        image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
    image.save(work / f"masks/{i}.png")


def rle(flags):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return " ".join(f"{a + 1} {b - a}" for a, b in zip(edges[::2], edges[1::2]))


paths = sorted(p.relative_to(work).as_posix() for p in work.glob("masks/*.png"))
grey = [np.array(Image.open(work / p).convert("L")) for p in paths]
m = 'files("masks/*.png").path'
case("masks", f"table({{ path = {m}, r = png_run_lengths({m}, {{}}) }})", {"path": paths, "r": [rle((g > 0).flatten("F")) for g in grey]})
case("masks by rows", f'table({{ r = png_run_lengths({m}, {{ order = "rows" }}) }})', {"r": [rle((g > 0).flatten()) for g in grey]})
case("masks of a value", f'table({{ r = png_run_lengths({m}, {{ value = 2, empty = "-1" }}) }})', {"r": [rle((g == 2).flatten("F")) or "-1" for g in grey]})

# JSON lists in cells.
lists = pd.DataFrame({"id": range(6), "labels": ['["a", "b c"]', "[]", None, '["é\\u00e9\\n"]', '[1, 2.5, true, 1e22, "x"]', '[ "a" ]'],
                      "genres": ['[{"id": 28, "name": "Action"}, {"id": 1, "name": "War"}]', "[]", None, '[{"name": "Noir", "id": 0}]', '[{"name": 5}]', "[]"]})
lists.to_csv(work / "lists.csv", index=False)
lists = pd.read_csv(work / "lists.csv")


def joined(column, of=lambda x: x):
    return column.map(lambda s: "|".join(str(of(x)) for x in json.loads(s)), na_action="ignore")


case("json_join", 'assign(csv("lists.csv"), { labels = json_join(csv("lists.csv").labels, "|", {}) })', lists.assign(labels=joined(lists.labels)))
case("json_join member", 'select(assign(csv("lists.csv"), { g = json_join(csv("lists.csv").genres, "|", { member = "name" }) }), "g")',
     {"g": joined(lists.genres, lambda x: x["name"])})
case("json_join flags", 'multi_hot(table({ l = json_join(csv("lists.csv").labels, "|", {}) }), "l", ["a", "b c", "x"], "|")',
     joined(lists.labels).str.get_dummies("|").reindex(columns=["a", "b c", "x"], fill_value=0))

raw = {p.relative_to(work).as_posix(): base64.b64encode(p.read_bytes()).decode() for p in sorted(work.rglob("*")) if p.is_file()}
here = pathlib.Path(__file__).parent
with open(here / "excel.json", "w", encoding="utf-8") as f:
    versions = {"python": platform.python_version(), "pandas": pd.__version__, "numpy": np.__version__, "pillow": PIL.__version__,
                "openpyxl": openpyxl.__version__, "xlsxwriter": xlsxwriter.__version__}
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "versions": versions, "base64": raw, "cases": CASES}, f, indent=1)
    f.write("\n")
