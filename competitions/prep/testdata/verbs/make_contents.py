"""Makes contents.json: expressions of the prepare language that read something
of files, and what Python says of the same files. Files that are no text are
raw in base64."""
import base64
import io
import json
import os
import pathlib
import platform
import random
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
import pandas as pd
import PIL
from PIL import Image

work = pathlib.Path(tempfile.mkdtemp())
CASES = []
rng = np.random.default_rng(3)


def case(name, expr, want):
    CASES.append({"name": name, "expr": expr, "want": pd.DataFrame(want).to_csv(index=False)})


def paths(pattern):
    return [str(p.relative_to(work)) for p in sorted(work.glob(pattern))]


# Notebooks: order of members, names with escapes, members that come twice.
for i in range(6):
    cells = [f"{random.Random(i * 100 + k).getrandbits(32):08x}" for k in range(i * 3)]
    text = json.dumps({"metadata": {"cell_type": 1}, "cell_type": {c: "code" for c in cells}, "source": {c: 'x = "{[' + "é\n" * 5 for c in cells}})
    if i == 5:
        text = '{"cell_type": {"old": 1}, "source": [1.5e3, {"cell_type": {"z": 0}}], "cell_type" : {"b\\u00e9": "x", "a,1": NaN, "b\\u00e9": "y"} }'
    (work / f"nb/{i}.json").parent.mkdir(exist_ok=True)
    (work / f"nb/{i}.json").write_text(text, encoding="utf-8")
case("json_names", 'assign(select(files("nb/*.json"), "path"), { n = json_names(files("nb/*.json").path, "cell_type", " ") })',
     {"path": paths("nb/*.json"), "n": [" ".join(json.loads((work / p).read_text())["cell_type"].keys()) for p in paths("nb/*.json")]})

# Pictures of several formats and modes.
(work / "pics").mkdir()
for name, mode, size, kw in [("a.png", "RGB", (7, 3), {}), ("b.png", "I;16", (5, 9), {}), ("c.png", "P", (1, 1), {}), ("d.png", "1", (33, 2), {}), ("e.png", "LA", (4, 6), {}),
                             ("f.jpg", "RGB", (17, 31), {}), ("g.jpg", "L", (8, 40), {"progressive": True}), ("h.gif", "P", (12, 5), {}),
                             ("i.tif", "L", (21, 10), {}), ("j.tif", "RGB", (6, 11), {"compression": "tiff_lzw"}), ("k.tiff", "I;16", (3, 8), {})]:
    Image.new(mode, size).save(work / "pics" / name, **kw)
exif = Image.Exif()
exif[0x112] = 6  # to be shown turned; size is that of the pixels
Image.new("RGB", (10, 20)).save(work / "pics/l.jpg", exif=exif)
case("image_size", 'image_size(files("pics/*").path)', [dict(zip(("path", "width", "height"), (p, *Image.open(work / p).size))) for p in paths("pics/*")])

# Masks of all types and orders.
(work / "npy").mkdir()
for i, (dtype, shape, order) in enumerate([("i4", (6, 5, 1), "C"), ("i8", (6, 5, 1), "F"), ("u1", (7, 3), "C"), ("b1", (4, 4), "F"), ("f4", (3, 5, 2), "C"), ("f8", (2, 3, 4, 2), "F"),
                                           ("i2", (40,), "C"), ("f2", (5, 1, 5), "C"), ("u8", (1, 9), "C"), ("i1", (3, 0), "C"), ("i4", (4, 4), "C"), ("i4", (4, 4), "F")]):
    a = np.asarray(rng.integers(0, 3 if i % 2 else 2, shape), dtype=dtype, order=order)
    if i == 10:
        a[:] = 0
    if i == 11:
        a[:] = 1
    np.save(work / f"npy/{i:02}.npy", a)


def rle(a):
    runs, before = [], -2
    for i in np.flatnonzero((a == 1).flatten("F")):
        if i != before + 1:
            runs.append([i + 1, 0])
        runs[-1][1] += 1
        before = i
    return " ".join(f"{s} {n}" for s, n in runs)


arrays = {p: np.load(work / p) for p in paths("npy/*.npy")}
case("run_lengths", 'table({ path = files("npy/*.npy").path, r = run_lengths(files("npy/*.npy").path) })', {"path": list(arrays), "r": [rle(a) for a in arrays.values()]})
case("npy_size first", 'table({ n = npy_size(files("npy/*.npy").path, 0) })', {"n": [a.shape[0] for a in arrays.values()]})
case("npy_size last", 'table({ n = npy_size(files("npy/*.npy").path, -1) })', {"n": [a.shape[-1] for a in arrays.values()]})
case("npy_size second", 'table({ n = npy_size(["npy/00.npy", "npy/05.npy"], 1) })', {"n": [a.shape[1] for p, a in arrays.items() if p[4:6] in ("00", "05")]})

# Archives, listed as if unpacked.
names = ["Sample2.zip", "Sample10.zip", "deep/Sample3.zip", "note.txt", "deep/er/x.zip", ".hidden.zip"]
unpacked = work / "unpacked"
for n in names:
    (unpacked / n).parent.mkdir(parents=True, exist_ok=True)
    (unpacked / n).write_text(n)
with tarfile.open(work / "a.tar.gz", "w:gz") as t:
    t.add(unpacked, ".")
with zipfile.ZipFile(work / "a.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for n in names:
        z.write(unpacked / n, n)
for archive in ("a.tar.gz", "a.zip", "unpacked"):
    for pattern in ("*.zip", "**/*.zip", "deep/*"):
        found = sorted(p for p in unpacked.glob(pattern) if p.is_file())
        case(f"archive_files {archive} {pattern}", f'archive_files("{archive}", "{pattern}")',
             {"path": [str(p.relative_to(unpacked)) for p in found], "folder": [p.parent.name if p.parent != unpacked else "" for p in found],
              "name": [p.name for p in found], "stem": [p.stem for p in found]})
case("substr from the end", 'table({ s = substr(archive_files("a.zip", "**/*.*").stem, -4, -1), t = substr(archive_files("a.zip", "**/*.*").stem, -3, 2) })',
     {"s": [p.stem[-4:] for p in sorted(unpacked.glob("**/*.*"))], "t": [p.stem[-3:][:2] for p in sorted(unpacked.glob("**/*.*"))]})

raw, binary = {}, {}
for p in sorted(work.rglob("*")):
    if p.is_file():
        name, data = str(p.relative_to(work)), p.read_bytes()
        try:
            raw[name] = data.decode()
        except UnicodeDecodeError:
            binary[name] = base64.b64encode(data).decode()
with open(pathlib.Path(__file__).parent / "contents.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"python": platform.python_version(), "pandas": pd.__version__, "numpy": np.__version__, "pillow": PIL.__version__}, "raw": raw, "base64": binary, "cases": CASES}, f, indent=1)
    f.write("\n")
