"""Writes oracle.json: scores of random inputs by the libraries that the metrics name as source.

Run as: python oracle.py [cases per metric] [largest number of rows] [seed] > oracle.json
with numpy 1.26.4, scipy 1.13.1, scikit-learn 1.5.2 (Python 3.11).
Scores are hexadecimal floats, "error" where the library raises.
"""
import json
import sys
import warnings

import numpy as np
import scipy
import sklearn
from sklearn import metrics as sk

warnings.filterwarnings("ignore")
CASES, ROWS, SEED = (int(x) for x in (sys.argv[1:] + ["12", "40", "1"])[:3]) if len(sys.argv) > 3 else (12, 40, 1)
rng = np.random.default_rng(SEED)


def column(v):
    a = np.asarray(v)
    kind = {"i": "int", "f": "float", "b": "bool"}.get(a.dtype.kind, "text")
    if kind == "float":
        return {"kind": kind, "v": [float(x).hex() for x in a]}
    return {"kind": kind, "v": a.tolist()}


def score(f):
    try:
        return float(f()).hex()
    except Exception:
        return "error"


def case(metric, args, truth, pred, f):
    names = [f"c{i}" for i in range(len(truth))]
    return {"metric": metric, "args": args, "truth": [column(t) for t in truth], "pred": [column(p) for p in pred],
            "targets": names, "score": score(f)}


def rows():
    return int(rng.choice([1, 2, 3, 7, 8, 9, 17, 129, rng.integers(2, ROWS + 1)])) if ROWS > 130 else int(rng.integers(1, ROWS + 1))


def labels(n):
    kind = rng.integers(0, 6)
    k = int(rng.integers(1, 6))
    if kind == 0:
        return rng.integers(-k, k, n)
    if kind == 1:
        return rng.integers(-k, k, n).astype(float)
    if kind == 2:
        return rng.integers(0, 2, n).astype(bool)
    if kind == 3:
        return np.array([["ant", "Bee", "bee", "ä", "z", ""][i] for i in rng.integers(0, k, n)], dtype=object)
    if kind == 4:
        return rng.integers(0, 2, n)
    return rng.integers(0, 4 * k, n) / 4


def noisy(truth):
    other = labels(len(truth))
    if rng.random() < 0.3 or other.dtype.kind == "O" or np.asarray(truth).dtype.kind == "O":
        return other if rng.random() < 0.5 else np.where(rng.random(len(truth)) < 0.7, truth, truth[::-1])
    return np.where(rng.random(len(truth)) < 0.7, truth, other)


def scores(n):
    kind = rng.integers(0, 4)
    if kind == 0:
        return rng.random(n)
    if kind == 1:
        return np.round(rng.random(n), 1)
    if kind == 2:
        return rng.integers(0, 3, n)
    return rng.choice([0.0, -0.0, 5e-324, 1e300, -1e300, 0.5, np.nextafter(0.5, 1)], n)


def probabilities(n, k):
    p = rng.random((n, k)) ** rng.integers(1, 20)
    p /= p.sum(axis=1, keepdims=True)
    p[rng.random(n) < 0.1] = np.eye(k)[rng.integers(0, k)]
    return p


def values(n):
    if rng.random() < 0.3:
        return rng.integers(0, 10 ** int(rng.integers(1, 12)), n)
    return rng.random(n) * 10.0 ** rng.integers(-8, 9)


def make():
    out = []
    for _ in range(CASES):
        n = rows()
        t = labels(n)
        p = noisy(t)
        out.append(case("accuracy", {}, [t], [p], lambda: sk.accuracy_score(t, p)))
        for w in (None, "linear", "quadratic"):
            out.append(case("kappa", {"weights": w or "none"}, [t], [p], lambda: sk.cohen_kappa_score(p, t, weights=w)))
        t, s = rng.integers(0, 2, n), scores(n)
        out.append(case("roc_auc", {}, [t], [s], lambda: sk.roc_auc_score(t, s)))
        k = int(rng.integers(2, 12))
        tt, ss = [rng.integers(0, 2, n) for _ in range(k)], [scores(n) for _ in range(k)]
        out.append(case("roc_auc", {}, tt, ss, lambda: np.mean([sk.roc_auc_score(a, b) for a, b in zip(tt, ss)])))
        p = rng.random(n) ** rng.integers(1, 40)
        p[rng.random(n) < 0.1] = rng.integers(0, 2)
        out.append(case("log_loss", {}, [t], [p], lambda: sk.log_loss(t, p)))
        k = int(rng.integers(3, 30))
        onehot, p = np.eye(k, dtype=int)[rng.integers(0, k, n)], probabilities(n, k)
        out.append(case("log_loss", {}, list(onehot.T), list(p.T), lambda: sk.log_loss(onehot, p)))
        t, p = values(n), values(n)
        out.append(case("rmse", {}, [t], [p], lambda: sk.root_mean_squared_error(t, p)))
        out.append(case("mse", {}, [t], [p], lambda: sk.mean_squared_error(t, p)))
        out.append(case("mae", {}, [t], [p], lambda: sk.mean_absolute_error(t, p)))
        if rng.random() < 0.2:
            p = p - 0.5
        out.append(case("rmsle", {}, [t], [p], lambda: sk.root_mean_squared_log_error(t, p)))
    return out


print(json.dumps({
    "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}",
    "cases": make(),
}, separators=(",", ":")).replace('{"metric"', '\n{"metric"'))
