"""Writes oracle_kaggle.json: scores of metrics of Kaggle's pages: confidences over all rows, words of speech, quantiles of forecasts, keypoints.

Run as: python oracle_kaggle.py CASES SEED > oracle_kaggle.json, with the arguments in the file's "command", and numpy 1.26.4, scipy 1.13.1,
scikit-learn 1.5.2, jiwer 3.0.5, pycocotools 2.0.8 (Python 3.11). Where no library has a metric, the page's definition is written out here. Scores are hexadecimal
floats.
"""
import importlib.metadata
import json
import os
import sys

import jiwer
import numpy as np
import sklearn
from pycocotools.cocoeval import COCOeval
from scipy.special import xlogy
from sklearn import metrics as sk

CASES, SEED = map(int, sys.argv[1:])
rng = np.random.default_rng(SEED)
out = []


def column(a):
    a = np.asarray(a)
    kind = {"i": "int", "f": "float"}.get(a.dtype.kind, "text")
    return {"kind": kind, "v": [float(x).hex() for x in a] if kind == "float" else [str(x) for x in a]}


def case(metric, args, truth, pred, score):
    """truth and pred are columns by name; the targets are those of pred."""
    out.append({"metric": metric, "args": args, "truth": [column(c) for c in truth.values()], "pred": [column(c) for c in pred.values()],
                "targets": list(pred), "names": {"truth": list(truth), "pred": list(pred)}, "score": float(score).hex()})


def gap(truth, pred, k):
    flat = [(c, w in t and w not in [v for v, _ in p[:i]]) for t, p in zip(truth, pred) for i, (w, c) in enumerate(p[:k])]
    flat.sort(key=lambda f: -f[0])
    score, hits = 0.0, 0
    for i, (_, hit) in enumerate(flat):
        hits += hit
        score += hits / (i + 1) * hit
    return score / sum(len(t) for t in truth), flat


def confidences(coarse):
    n, names = int(rng.integers(1, 40)), [f"l{i}" for i in range(7)]
    truth = [list(rng.choice(names, rng.integers(0, 4), replace=False)) for _ in range(n)]
    truth[0] = ["l3", "l1"]
    pred = [[(str(w), float(np.round(rng.random(), 1 if coarse else 9))) for w in rng.choice(names, rng.integers(0, 6))] for _ in range(n)]
    cells = {"c": [" ".join(t) for t in truth]}, {"c": [" ".join(f"{w} {c}" for w, c in p) for p in pred]}
    for k in (0, 1, 3):
        case("gap", {"k": float(k)}, *cells, gap(truth, pred, k or 99)[0])
    # Where every label is predicted once and no confidence is repeated, it is scikit-learn's average precision of the pairs.
    whole = [[(w, float(rng.random())) for w in names] for _ in range(n)]
    score, flat = gap(truth, whole, 99)
    assert np.isclose(score, sk.average_precision_score([hit for _, hit in flat], [c for c, _ in flat]), rtol=1e-12)
    # The k most probable classes, in order, of scikit-learn's top k.
    best, scores = rng.integers(0, 7, n), rng.random((n, 7))
    ranked = [" ".join(names[i] for i in np.argsort(-row)) for row in scores]
    for k in (1, 3):
        score = np.mean([names[i] not in row.split()[:k] for i, row in zip(best, ranked)])
        assert np.isclose(1 - score, sk.top_k_accuracy_score(best, scores, k=k, labels=range(7)), rtol=1e-12)
        case("best_error_at_k", {"k": float(k)}, {"c": [names[i] for i in best]}, {"c": ranked}, score)


def speech(_):
    n, words = int(rng.integers(1, 12)), "a b of the thé word আমি ই words  spoken".split(" ")
    sentence = lambda low: " ".join(rng.choice(words, rng.integers(low, 12)))
    truth = ["the " + sentence(0) for _ in range(n)]
    pred = [t if rng.random() < 0.3 else sentence(0) + t[int(rng.integers(0, len(t))):] for t in truth]
    domain = rng.choice(["x", "y", "z"], n)
    each = [jiwer.wer([t for t, d in zip(truth, domain) if d == g], [p for p, d in zip(pred, domain) if d == g]) for g in sorted(set(domain))]
    case("word_error_rate", {}, {"s": truth}, {"s": pred}, jiwer.wer(truth, pred))
    case("word_error_rate", {"unit": "characters"}, {"s": truth}, {"s": pred}, jiwer.cer(truth, pred))
    case("word_error_rate", {"group": "d"}, {"s": truth, "d": domain}, {"s": pred}, np.mean(each))


def forecasts(weighted):
    n, h, past = int(rng.integers(1, 12)), int(rng.integers(1, 5)), rng.poisson(1, (12, 9)).astype(float)
    past[:, :2], past[:, 4:6] = 0, [1, 3]
    q = rng.choice([0.005, 0.025, 0.165, 0.25, 0.5, 0.75, 0.995], n)
    truth, pred, weights = rng.poisson(2, (n, h)).astype(float), rng.random((n, h)) * 4, rng.choice([0.5, 1, 2.25], n)
    each = []
    for i in range(n):
        series = past[i][np.flatnonzero(past[i])[0]:]
        each.append(np.mean([sk.mean_pinball_loss([t], [p], alpha=q[i]) for t, p in zip(truth[i], pred[i])]) / np.mean(np.abs(np.diff(series))))
    steps, days = [f"F{i}" for i in range(h)], [f"d{i}" for i in range(9)]
    args = {"quantile": "q", "history": days, **({"weight": "w"} if weighted else {})}
    score = np.average(each, weights=weights if weighted else None)
    case("wspl", args, {**dict(zip(steps, truth.T)), "q": q, **dict(zip(days, past[:n].T)), "w": weights}, dict(zip(steps, pred.T)), score)


def keypoints(same):
    n, k = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    truth, area = rng.uniform(0, 90, (n, 2 * k)), rng.uniform(50, 3000, n)
    pred = truth + rng.normal(0, 3, truth.shape)
    shown = rng.random((n, k)) < 0.8
    shown[0, 0] = True
    sigmas = np.full(k, 0.05) if same else np.round(rng.uniform(0.02, 0.1, k), 3)
    each = []
    for i in range(n):
        if not shown[i].any():
            continue
        coco = COCOeval.__new__(COCOeval)
        coco.params = type("Params", (), {"maxDets": [1], "kpt_oks_sigmas": sigmas})
        full = lambda xy, seen: np.stack([xy[0::2], xy[1::2], seen], axis=1).ravel().tolist()
        coco._gts = {(0, 0): [{"keypoints": full(truth[i], 2 * shown[i]), "area": area[i], "bbox": [0, 0, 1, 1]}]}
        coco._dts = {(0, 0): [{"keypoints": full(pred[i], np.ones(k)), "score": 1}]}
        each.append(coco.computeOks(0, 0)[0, 0])
    hidden = np.where(np.repeat(shown, 2, axis=1), truth, np.nan)
    names = [f"{axis}{i}" for i in range(k) for axis in "xy"]
    args = {"area": "area", **({} if same else {"sigmas": [str(s) for s in sigmas]})}
    case("oks", args, {**dict(zip(names, hidden.T)), "area": area}, dict(zip(names, pred.T)), np.mean(each))


def flags(some):
    n, k = int(rng.integers(2, 60)), int(rng.integers(1, 5))
    truth, pred = rng.integers(0, 2, (n, k)), np.round(rng.random((n, k)), int(rng.integers(1, 9)))
    if some:
        truth[:, 0] = 0
    names = [f"c{i}" for i in range(k)]
    case("columnwise_log_loss", {}, dict(zip(names, truth.T)), dict(zip(names, pred.T)), np.mean([sk.log_loss(t, p, labels=[0, 1]) for t, p in zip(truth.T, pred.T)]))
    clipped = np.clip(np.where(truth == 1, pred, 1 - pred), 1e-15, 1 - 1e-15)
    case("columnwise_log_loss", {"eps": 1e-15}, dict(zip(names, truth.T)), dict(zip(names, pred.T)), np.mean([np.mean(-xlogy(np.ones(n), c)) for c in clipped.T.copy()]))
    case("hamming_loss", {}, dict(zip(names, truth.T)), dict(zip(names, (pred > 0.5).astype(int).T)), sk.hamming_loss(truth, (pred > 0.5).astype(int)))


for i in range(CASES):
    for part in (confidences, speech, forecasts, keypoints, flags):
        part(i % 2)
versions = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "jiwer", "pycocotools")}
print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "made_with": ", ".join(f"{k} {v}" for k, v in versions.items())})[:-1]
      + ', "cases":[\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in out) + "\n]}")
