"""Makes coco.json: random boxes and detections, and what pycocotools makes of
them when boxes are given as x, y, width and height and numbered from 1. The
last cases have hostile numbers; they are listed as [picture, detection,
place, number], since JSON has no NaN."""
import contextlib
import io
import json
import os
import random
import sys
import warnings
from importlib.metadata import version

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

CASES = []


def annotation(number, picture, cls, c, **more):
    return {"id": number, "image_id": picture, "category_id": cls, "bbox": np.array([c[0], c[1], c[2] - c[0], c[3] - c[1]]), "segmentation": [],
            "ignore": 0, "iscrowd": 0, "area": (c[2] - c[0]) * (c[3] - c[1]), **more}


def score(truth, found, overlap):
    sides = []
    for boxes in (truth, found):
        side = COCO()
        side.dataset = {"images": [{"id": i} for i in range(len(truth))], "categories": [{"id": c} for c in sorted({b[0] for t in truth for b in t})], "annotations": [
            annotation(0, i, b[0], b[-4:], **({"score": b[1]} if len(b) == 6 else {})) for i, t in enumerate(boxes) for b in t]}
        for n, a in enumerate(side.dataset["annotations"]):
            a["id"] = n + 1
        side.createIndex()
        sides.append(side)
    e = COCOeval(*sides, "bbox")
    e.params.imgIds = list(range(len(truth)))
    e.params.iouThrs = np.array([overlap])
    e.evaluate()
    e.accumulate()
    e.summarize()
    return float(e.stats[0])


r = random.Random(7)
for k in range(64):
    if k == 24:
        r = random.Random(8)
    overlap = r.choice([0.4, 0.5, 0.75])
    big = 1e6 if k % 6 == 5 else 100

    def box():
        x, y = r.random() * big, r.random() * big
        c = [x, y, x + r.random() * big, y + r.random() * big]
        return c if r.random() < 0.95 else [c[2], c[1], c[0], c[3]]

    truth = [[[r.randrange(4), *box()] for _ in range(r.randrange(1, 6))] for _ in range(r.randrange(1, 12 if k < 24 else 4))]
    found = []
    for t in truth:
        d = []
        for b in t:
            for _ in range(r.choice([0, 1, 1, 2])):
                c = [v + (r.random() - 0.5) * big * r.choice([0, 0.1, 0.4]) for v in b[1:]]
                d.append([b[0] if r.random() < 0.9 else r.randrange(6), round(r.random(), r.choice([1, 9])), *c])
        d += [[r.randrange(5), r.random(), *box()] for _ in range(r.choice([0, 0, 1, 120 if k % 8 == 3 and k < 24 else 2]))]
        r.shuffle(d)
        found.append(d)
    edits = []
    for _ in range(0 if k < 24 else r.randrange(1, 4)):
        i = r.randrange(len(found))
        if found[i]:
            n, place, value = r.randrange(len(found[i])), r.randrange(1, 6), r.choice(["nan", "nan", "inf", "-inf", "1e308", "-1e308", "0"])
            edits.append([i, n, place, value])
    plain, found = found, [[list(b) for b in d] for d in found]
    for i, n, place, value in edits:
        found[i][n][place] = float(value)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        want = score(truth, found, overlap)
    CASES.append({"overlap": overlap, "truth": truth, "found": plain, "edits": edits, "score": repr(want)})

print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "made_with": f"pycocotools {version('pycocotools')}, numpy {np.__version__}", "cases": CASES}))
