"""Writes oracle.json: scores of random inputs by the libraries that the metrics name as source.

Run as: python oracle.py CASES ROWS SEED > oracle.json, with the arguments in the file's "command":
cases per metric, the largest number of rows, and the seed,
with numpy 1.26.4, scipy 1.13.1, scikit-learn 1.5.2, Levenshtein 0.25.1 (Python 3.11).
Scores are hexadecimal floats, "error" where the library raises.
"""
import json
import os
import sys
import warnings

import numpy as np
import scipy
import sklearn
import Levenshtein
from scipy import stats
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer

warnings.filterwarnings("ignore")
CASES, ROWS, SEED = map(int, sys.argv[1:])
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


WORDS = ["a", "b", "ab", "B", "ba", "\u0130", "\u03a3", "\u03c3\u03a3", "na\u00efve", "7", "07"]
BLANKS = [" ", " ", " ", "  ", "\t", "\u00a0", "\u2003", "\u200b", "\x1c", "\x85"]


def sentence(most=6):
    n = int(rng.integers(0, most + 1))
    return "".join(str(rng.choice(WORDS)) + str(rng.choice(BLANKS)) for _ in range(n))[: None if rng.random() < 0.5 else -1]


def objects(v):
    return np.array(list(v) + [None], dtype=object)[:-1]


def jaccard(t, p):
    t, p = [set(x.lower().split()) for x in t], [set(x.lower().split()) for x in p]
    mlb = MultiLabelBinarizer(classes=list(set.union(*t, *p)), sparse_output=True)
    return sk.jaccard_score(mlb.fit_transform(t), mlb.transform(p), average="samples")


def tags(t, p):
    t, p = [x.split() for x in t], [x.split() for x in p]
    mlb = MultiLabelBinarizer(classes=sorted({w for x in t for w in x}), sparse_output=True)
    return sk.f1_score(mlb.fit_transform(t), mlb.transform(p), average="micro")


def error_rate(t, p):
    t, p = [[int(w) for w in x.split()] for x in t], [[int(w) for w in x.split()] for x in p]
    return np.sum([Levenshtein.distance(a, b) for a, b in zip(t, p)]) / np.int64(sum(len(x) for x in t))


def texts_cases(n):
    out = []
    t, p = objects(sentence() for _ in range(n)), objects(sentence() for _ in range(n))
    p[rng.random(n) < 0.3] = t[0]
    out.append(case("jaccard_words", {}, [t], [p], lambda: jaccard(t, p)))
    out.append(case("multilabel_f1", {}, [t], [p], lambda: tags(t, p)))
    t, p = objects(sentence(60) for _ in range(n)), objects(sentence(60) for _ in range(n))
    p[rng.random(n) < 0.3] = t[0][: len(t[0]) // 2] + "x" + t[0][len(t[0]) // 2 + 1:]
    out.append(case("levenshtein", {}, [t], [p], lambda: np.mean([Levenshtein.distance(a, b) for a, b in zip(t, p)])))
    t, p = (objects(" ".join(rng.choice(["1", "2", "+2", "03", "-0", "1_0", "99999999999999999999"], rng.integers(0, 9))) for _ in range(n)) for _ in "tp")
    out.append(case("sequence_error_rate", {}, [t], [p], lambda: error_rate(t, p)))
    return out


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
        if n > 1:
            out.append(case("pearson", {}, [t], [p], lambda: stats.pearsonr(t, p)[0]))
        q = np.round(np.log10(p + 1)) if rng.random() < 0.5 else p
        out.append(case("spearman", {}, [t], [q], lambda: stats.spearmanr(q, t).correlation))
        out += texts_cases(min(n, 40))
        tt, pp = labels(n), labels(n)
        out.append(case("mcc", {}, [tt], [pp], lambda: sk.matthews_corrcoef(tt, pp)))
        for average in ("micro", "macro"):
            out.append(case("f1", {"average": average}, [tt], [pp], lambda: sk.f1_score(tt, pp, average=average)))
        if rng.random() < 0.2:
            p = p - 0.5
        out.append(case("rmsle", {}, [t], [p], lambda: sk.root_mean_squared_log_error(t, p)))
    return out


print(json.dumps({
    "command": " ".join(["python", *map(os.path.basename, sys.argv)]),
    "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
                 f"Levenshtein {Levenshtein.__version__}",
    "cases": make(),
}, separators=(",", ":")).replace('{"metric"', '\n{"metric"'))
