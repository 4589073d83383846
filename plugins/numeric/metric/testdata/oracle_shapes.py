"""Writes oracle_shapes.json: scores of random masks, boxes, lists and groups, worked out with the field's libraries.

Run as: python oracle_shapes.py CASES SEED > oracle_shapes.json, with the arguments in the file's "command":
cases per metric and the seed,
with numpy 1.26.4, scipy 1.17.1, scikit-learn 1.5.2, shapely 2.2.0, pycocotools 2.0.11 (Python 3.11).
Where a library has the whole metric, it is called; otherwise the metric is put together of their parts
(areas by shapely, distances by scipy, curves by scikit-learn) as its documentation says.
"""
import contextlib
import io
import json
import os
import sys
import warnings

import numpy as np
import scipy
import shapely
import sklearn
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from scipy import spatial, stats
from shapely import affinity
from shapely.geometry import Point, Polygon, box
from sklearn import metrics as sk

warnings.filterwarnings("ignore")
CASES, SEED = map(int, sys.argv[1:])
rng = np.random.default_rng(SEED)


def column(v):
    a = np.asarray(v)
    kind = {"i": "int", "f": "float", "b": "bool"}.get(a.dtype.kind, "text")
    return {"kind": kind, "v": [float(x).hex() for x in a] if kind == "float" else [str(x) for x in v] if kind == "text" else a.tolist()}


def case(metric, args, truth, pred, targets, score, truth_names=None, id=""):
    out = {"metric": metric, "args": args, "id": id, "names": {"truth": list(truth), "pred": list(pred)}, "targets": targets,
           "truth": [column(v) for v in truth.values()], "pred": [column(v) for v in pred.values()], "score": float(score).hex()}
    if truth_names:
        out["truth_names"] = truth_names
    return out


def runs(mask):
    flat = np.concatenate(([0], mask.T.ravel(), [0]))
    at = np.flatnonzero(np.diff(flat))
    return " ".join(f"{a + 1} {b - a}" for a, b in zip(at[::2], at[1::2]))


def masks(n, h, w):
    truth = [rng.random((h, w)) < rng.choice([0, 0.2, 0.5, 0.9]) for _ in range(n)]
    pred = [m if rng.random() < 0.2 else np.where(rng.random((h, w)) < rng.choice([0.1, 0.5]), rng.random((h, w)) < 0.5, m) for m in truth]
    truth[0][0, 0] = True
    return [m.astype(int) for m in truth], [m.astype(int) for m in pred]


def masked():
    h, w, n = (int(x) for x in rng.integers(2, 12, 3))
    truth, pred = masks(n, h, w)
    t, p, size = {"m": [runs(m) for m in truth]}, {"m": [runs(m) for m in pred]}, {"pixels": float(h * w)}
    t["m"], p["m"] = list(map(str, t["m"])), list(map(str, p["m"]))
    flat = [np.concatenate([m.ravel() for m in side]) for side in (truth, pred)]
    yield case("dice", {**size, "over": "all"}, t, p, ["m"], 1 - spatial.distance.dice(*(f.astype(bool) for f in flat)))
    each = [1 - spatial.distance.dice(a.ravel().astype(bool), b.ravel().astype(bool)) if (a | b).any() else 1 for a, b in zip(truth, pred)]
    yield case("dice", {**size, "both_empty": "one"}, t, p, ["m"], np.mean(each))
    for beta in (0.5, 1.0, 2.0):
        yield case("mask_fbeta", {**size, "beta": beta}, t, p, ["m"],
                   np.mean([sk.fbeta_score(a.ravel(), b.ravel(), beta=beta, zero_division=0) for a, b in zip(truth, pred)]))
    keep = [i for i in range(n) if pred[i].any()]
    if keep:
        steps = np.arange(0.5, 1.0, 0.05)
        each = [(sk.jaccard_score(truth[i].ravel(), pred[i].ravel()) > steps).mean() if truth[i].any() else 0 for i in keep]
        yield case("mask_precision", size, {"m": [t["m"][i] for i in keep]}, {"m": [p["m"][i] for i in keep]}, ["m"], np.mean(each))
    yield volume(truth, pred, h, w)


def volume(truth, pred, h, w):
    """One volume whose slices are the masks."""
    n = len(truth)
    dices = [2 * (a & b).sum() / (a.sum() + b.sum()) for a, b in zip(truth, pred) if a.any() or b.any()]
    points = [np.argwhere(np.array(side)) / np.array([n, h, w]) for side in (truth, pred)]
    if len(points[1]) == 0 or len(points[1]) > 10 * len(points[0]):
        distance = 1
    else:
        distance = max(spatial.distance.directed_hausdorff(*points)[0], spatial.distance.directed_hausdorff(*points[::-1])[0]) / np.sqrt(3)
    ids = [f"a_slice_{i:04d}" for i in range(n)]
    return case("dice_hausdorff", {"height": "h", "width": "w"}, {"id": ids, "m": [runs(m) for m in truth], "h": [h] * n, "w": [w] * n},
                {"id": ids, "m": [runs(m) for m in pred]}, ["m"], 0.4 * np.mean(dices) + 0.6 * (1 - distance), id="id")


def average_precision(hits, scores):
    return sk.average_precision_score(hits, scores)


def rectangles():
    """Detections of two classes in some pictures, matched by shapely's areas."""
    n, classes = int(rng.integers(1, 6)), ["a", "b"]
    # A picture of a third class, which is a miss of the others.
    truth, pred = ["c 1.0 0 0 1 1"], ["c 1.0 0 0 1 1"]
    hits = {"a": ([0], [0.0]), "b": ([0], [0.0]), "c": ([1] + [0] * n, [1.0] + [0.0] * n)}
    for _ in range(n):
        t = [(rng.choice(classes), rng.integers(0, 40, 2), rng.integers(5, 30, 2)) for _ in range(rng.integers(1, 4))]
        p = [(rng.choice(classes), float(np.round(rng.random(), 3)), a + rng.integers(-3, 4, 2), s + rng.integers(-3, 4, 2)) for _, a, s in t]
        p += [(str(rng.choice(classes)), float(np.round(rng.random(), 3)), rng.integers(0, 40, 2), rng.integers(5, 30, 2)) for _ in range(rng.integers(0, 3))]
        truth.append(" ".join(f"{c} 1.0 {a[0]} {a[1]} {a[0] + s[0]} {a[1] + s[1]}" for c, a, s in t))
        pred.append(" ".join(f"{c} {q} {a[0]} {a[1]} {a[0] + s[0]} {a[1] + s[1]}" for c, q, a, s in p))
        for c in classes:
            mine, theirs = [x for x in t if x[0] == c], sorted((x for x in p if x[0] == c), key=lambda x: -x[1])
            free = [box(*a, *(a + s)) for _, a, s in mine]
            for _, q, a, s in theirs:
                found = box(*a, *(a + s))
                over = [found.intersection(f).area / found.union(f).area for f in free]
                hit = bool(over) and max(over) > 0.5
                if hit:
                    del free[int(np.argmax(over))]
                hits[c][0].append(int(hit))
                hits[c][1].append(q)
            hits[c][0].extend([1] * len(free) if free else ([] if mine or theirs else [0]))
            hits[c][1].extend([0.0] * len(free) if free else ([] if mine or theirs else [0.0]))
    present = sorted({word for text in truth for word in text.split()[::6]})
    yield case("detection_ap", {}, {"p": truth}, {"p": pred}, ["p"], np.mean([average_precision(*hits[c]) for c in present]))


def coco():
    """COCO's own evaluation of boxes by corners, ids from 1."""
    n = int(rng.integers(1, 8))
    rows, found, texts, annotations = [], [], [], []
    for i in range(n):
        text = []
        for _ in range(rng.integers(1, 5)):
            c, a, s = int(rng.integers(0, 3)), rng.integers(0, 60, 2), rng.integers(5, 40, 2)
            rows.append((f"p{i}", c, float(a[0]), float(a[1]), float(a[0] + s[0]), float(a[1] + s[1])))
            annotations.append({"id": len(annotations) + 1, "image_id": i, "category_id": c, "bbox": [*map(float, a), *map(float, s)],
                                "area": float(s[0] * s[1]), "iscrowd": 0})
            for _ in range(rng.integers(0, 3)):
                b, r, q = a + rng.integers(-4, 5, 2), s + rng.integers(-4, 5, 2), float(np.round(rng.random(), 4))
                text.append(f"{c} {q} {b[0]} {b[1]} {b[0] + r[0]} {b[1] + r[1]}")
                found.append({"id": len(found) + 1, "image_id": i, "category_id": c, "bbox": [*map(float, b), *map(float, r)],
                              "area": float(r[0] * r[1]), "score": q, "iscrowd": 0})
        texts.append(" ".join(text) or f"9 0.5 0 0 1 1")
    head = {"images": [{"id": i} for i in range(n)], "categories": [{"id": c} for c in sorted({r[1] for r in rows})]}
    sides = []
    with contextlib.redirect_stdout(io.StringIO()):
        for list_ in (annotations, found):
            side = COCO()
            side.dataset = {**head, "annotations": list_}
            side.createIndex()
            sides.append(side)
        ev = COCOeval(*sides, "bbox")
        ev.params.iouThrs = np.array([0.4])
        ev.evaluate(), ev.accumulate(), ev.summarize()
    names = ["image", "class_id", "x_min", "y_min", "x_max", "y_max"]
    yield case("coco_ap", {"corners": True}, dict(zip(names, map(list, zip(*rows)))), {"image": [f"p{i}" for i in range(n)], "boxes": texts},
               ["boxes"], ev.stats[0], id="image")


def ground(b):
    x, y, w, l, yaw = b[1], b[2], b[4], b[5], b[7]
    return affinity.translate(affinity.rotate(box(-l / 2, -w / 2, l / 2, w / 2), yaw, origin=(0, 0), use_radians=True), x, y)


def cuboid_overlap(a, b):
    height = max(0, min(a[3] + a[6] / 2, b[3] + b[6] / 2) - max(a[3] - a[6] / 2, b[3] - b[6] / 2))
    shared = height * ground(a).intersection(ground(b)).area
    return shared / (a[4] * a[5] * a[6] + b[4] * b[5] * b[6] - shared)


def envelope(hits, wanted):
    tp = np.cumsum(hits)
    recall, precision = tp / wanted, tp / np.arange(1, len(hits) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(np.concatenate(([0], recall))) * best))


def cuboids():
    rows = int(rng.integers(1, 4))
    truth, pred, scores = [], [], []
    for _ in range(rows):
        t = [([1.0, *rng.uniform(0, 12, 2), rng.uniform(0, 2), *rng.uniform(1, 5, 3), rng.uniform(-3, 3)], str(rng.choice(["car", "bus"]))) for _ in range(rng.integers(1, 5))]
        p = [([float(rng.random()), *(np.array(b[1:]) + rng.normal(0, 0.1, 7))], c) for b, c in t for _ in range(rng.integers(0, 3))]
        truth.append(" ".join(" ".join(map(repr, map(float, b))) + " " + c for b, c in t))
        pred.append(" ".join(" ".join(map(repr, map(float, b))) + " " + c for b, c in p) or " ")
        for least in [x / 100 for x in range(50, 100, 5)]:
            each = []
            for c in sorted({c for _, c in t}):
                mine, theirs = [b for b, k in t if k == c], sorted((b for b, k in p if k == c), key=lambda b: -b[0])
                taken, hits = set(), []
                for b in theirs:
                    over = [cuboid_overlap(b, m) for m in mine]
                    best = int(np.argmax(over))
                    hits.append(int(over[best] > least and best not in taken))
                    taken |= {best} if hits[-1] else set()
                each.append(envelope(hits, len(mine)) if hits else 0.0)
            scores.append(np.mean(each))
    yield case("cuboid_ap", {}, {"p": truth}, {"p": pred}, ["p"], np.mean(scores))


def points():
    truth, pred, right, wanted, given = [], [], 0, 0, 0
    for _ in range(rng.integers(1, 5)):
        boxes = [(str(rng.choice(["U+1", "U+2"])), *map(int, rng.integers(0, 30, 2)), *map(int, rng.integers(2, 20, 2))) for _ in range(rng.integers(1, 6))]
        dots = [("U+3", 1, 1)] + [(c, x + int(rng.integers(0, w + 2)), y + int(rng.integers(0, h + 2))) for c, x, y, w, h in boxes if rng.random() < 0.8]
        truth.append(" ".join(" ".join(map(str, b)) for b in boxes))
        pred.append(" ".join(" ".join(map(str, d)) for d in dots))
        wanted, given, free = wanted + len(boxes), given + len(dots), list(dots)
        for c, x, y, w, h in boxes:
            inside = [d for d in free if d[0] == c and box(x, y, x + w, y + h).contains(Point(d[1], d[2]))]
            right += bool(inside)
            if inside:
                free.remove(inside[0])
    p, r = right / max(given, 1), right / wanted
    yield case("point_in_box_f1", {}, {"p": truth}, {"p": pred}, ["p"], 2 * p * r / (p + r) if right else 0.0)


def ranks():
    n, k = int(rng.integers(1, 9)), int(rng.integers(2, 7))
    words = list("abcdefghij")
    truth = [" ".join(rng.permutation(words)) for _ in range(n)]
    pred = [" ".join(rng.permutation(words)) for _ in range(n)]
    turns = []
    for a, b in zip(truth, pred):
        b = b.split()
        turns.append((1 - stats.kendalltau(range(10), [b.index(w) for w in a.split()]).statistic) * 10 * 9 / 4)
    yield case("kendall_tau", {}, {"c": truth}, {"c": pred}, ["c"], 1 - 4 * sum(turns) / (n * 90))
    wanted = [list(rng.choice(words, rng.integers(1, 5), replace=False)) for _ in range(n)]
    each = [sk.average_precision_score([int(w in t) for w in p.split()], -np.arange(10)) for t, p in zip(wanted, pred)]
    yield case("map_at_k", {"k": 10.0}, {"c": [" ".join(t) for t in wanted]}, {"c": pred}, ["c"], np.mean(each))
    one = [t[0] for t in wanted]
    each = [1 / (p.split().index(t) + 1) if t in p.split()[:k] else 0 for t, p in zip(one, pred)]
    yield case("map_at_k", {"k": float(k)}, {"c": one}, {"c": pred}, ["c"], np.mean(each))
    relevant, s = (rng.random((n, k)) < 0.4).astype(int), np.round(rng.random((n, k)), int(rng.integers(1, 5)))
    relevant[0, 0] = 1
    names = [f"c{i}" for i in range(k)]
    yield case("lwlrap", {}, dict(zip(names, relevant.T)), dict(zip(names, s.T)), names,
               sk.label_ranking_average_precision_score(relevant, s, sample_weight=relevant.sum(axis=1)))


def curve_area(t, s):
    """The area between two heights of scikit-learn's curve counts as its height's weight says."""
    fpr, tpr, _ = sk.roc_curve(t, s)
    bounds, weights = [0.0, 0.4, 1.0], [2, 1]
    total = 0.0
    for low, high, weight in zip(bounds, bounds[1:], weights):
        x = np.concatenate([fpr, np.interp([high], tpr, fpr)]) if high < 1 else fpr
        y = np.concatenate([tpr, [high]]) if high < 1 else tpr
        order = np.lexsort((y, x))
        x, y = x[order], np.clip(y[order], low, high) - low
        total += weight * np.trapezoid(y, x) if hasattr(np, "trapezoid") else weight * np.trapz(y, x)
    return total / 1.4


def labels():
    n = int(rng.integers(4, 60))
    t = rng.integers(0, 2, n)
    t[:2] = 0, 1
    s = np.round(t * 0.3 + rng.random(n) * 0.7, 9)
    yield case("weighted_auc", {}, {"y": t}, {"y": s}, ["y"], curve_area(t, s))
    yield case("probabilistic_f1", {}, {"y": t}, {"y": (s > 0.5).astype(int)}, ["y"], sk.f1_score(t, s > 0.5))
    yield case("error_rate", {}, {"y": t}, {"y": (s > 0.5).astype(int)}, ["y"], 1 - sk.accuracy_score(t, s > 0.5))
    groups = [rng.integers(0, 2, n) for _ in range(2)]
    for g in groups:
        g[:4], t[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    def subset(keep):
        return sk.roc_auc_score(t[keep], s[keep] > 0.5)
    parts = [[subset(g == 1), subset(((g == 1) & (t == 0)) | ((g == 0) & (t == 1))), subset(((g == 1) & (t == 1)) | ((g == 0) & (t == 0)))] for g in groups]
    means = [np.mean(np.array(kind) ** -5.0) ** (1 / -5.0) for kind in zip(*parts)]
    yield case("bias_auc", {"identities": ["g0", "g1"]}, {"y": t, "g0": groups[0], "g1": groups[1]}, {"y": s}, ["y"],
               np.mean([subset(np.ones(n, bool)), *means]))


def values():
    n, k = int(rng.integers(2, 40)), int(rng.integers(2, 6))
    g = rng.integers(0, 4, n)
    t, p = rng.normal(0, 3, n), rng.normal(0, 3, n)
    yield case("log_mae", {"group": "g"}, {"g": g, "x": t}, {"x": p}, ["x"],
               np.mean([np.log(sk.mean_absolute_error(t[g == i], p[g == i])) for i in np.unique(g)]))
    votes, q = rng.integers(0, 9, (n, k)), rng.dirichlet(np.ones(k), n)
    votes[:, 0] += 1
    names = [f"c{i}" for i in range(k)]
    yield case("kl_divergence", {}, {"id": list(range(n)), **dict(zip(names, votes.T))}, {"id": list(range(n)), **dict(zip(names, q.T))}, names,
               np.mean([stats.entropy(a, b) for a, b in zip(votes, q)]), id="id")
    ids = [f"a_{i}" for i in range(n)]
    c = rng.uniform(50, 400, n)
    spread = np.maximum(c, 70) / np.sqrt(2)
    yield case("laplace_log_likelihood", {"confidence": "s", "group": "g", "last": 999.0}, {"id": ids, "g": ["a"] * n, "x": t * 50},
               {"id": ids, "x": p * 50, "s": c}, ["x"], np.mean(stats.laplace.logpdf(t * 50, p * 50, spread)), id="id")
    a, b = np.stack([rng.uniform(0, 2 * np.pi, n), rng.uniform(0, np.pi, n)]), np.stack([rng.uniform(-9, 9, n), rng.uniform(-9, 9, n)])
    unit = [np.stack([np.cos(x[0]) * np.sin(x[1]), np.sin(x[0]) * np.sin(x[1]), np.cos(x[1])], axis=1) for x in (a, b)]
    yield case("angular_error", {}, {"az": a[0], "ze": a[1]}, {"az": b[0], "ze": b[1]}, ["az", "ze"],
               np.mean([np.arccos(1 - spatial.distance.cosine(u, v)) for u, v in zip(*unit)]))
    lat, lng = rng.uniform(-60, 60, n), rng.uniform(-170, 170, n)
    lat2, lng2 = lat + rng.normal(0, 0.1, n), lng + rng.normal(0, 0.1, n)
    each = []
    for i in np.unique(g):
        d = [6371000 * sk.pairwise.haversine_distances(np.radians([[w, x]]), np.radians([[y, z]]))[0, 0] for w, x, y, z in zip(lat[g == i], lng[g == i], lat2[g == i], lng2[g == i])]
        each.append((np.percentile(d, 50) + np.percentile(d, 95)) / 2)
    yield case("haversine_quantiles", {"group": "g"}, {"g": g, "la": lat, "lo": lng}, {"g": g, "la": lat2, "lo": lng2}, ["la", "lo"], np.mean(each))
    levels = ["all", "C1", "C2"]
    t, p = rng.integers(0, 2, (n, 3)), rng.uniform(0.01, 0.99, (n, 3))
    weight = np.where(np.array(levels) == "all", 7, 1) * (1 + t)
    loss = np.mean([sk.log_loss(y, q, sample_weight=w, labels=[0, 1]) for y, q, w in zip(t, p, weight)])
    ids = [f"s{i:02d}_{level}" for i in range(n) for level in levels]
    yield case("weighted_log_loss", {"levels": levels, "heavy": "all", "weight": 7.0}, {"id": ids, "y": t.ravel()}, {"id": ids, "y": p.ravel()}, ["y"], loss, id="id")


cases = [c for _ in range(CASES) for make in (masked, rectangles, coco, cuboids, points, ranks, labels, values) for c in make()]
print(json.dumps({
    "command": " ".join(["python", *map(os.path.basename, sys.argv)]),
    "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, shapely {shapely.__version__}, "
                 f"pycocotools 2.0.11",
    "cases": cases,
}, separators=(",", ":")).replace('{"metric"', '\n{"metric"'))
