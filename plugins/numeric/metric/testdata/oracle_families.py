"""Writes oracle_families.json: scores of the families of labels, flags, probabilities, numbers, ranks and lists, hostile columns among them.

Run as: python oracle_families.py CASES SEED > oracle_families.json, with the arguments in the file's "command": cases per metric and the seed,
with numpy 1.26.4, scipy 1.13.1, scikit-learn 1.5.2, lifelines 0.29.0 (Python 3.11). Where no library has a metric, the published definition is
written out here. Scores are hexadecimal floats, "error" where the library raises.
"""
import json
import math
import sys
import warnings

import lifelines
import numpy as np
import scipy
import sklearn
from lifelines.utils import concordance_index
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer

warnings.filterwarnings("ignore")
CASES, SEED = map(int, sys.argv[1:])
rng = np.random.default_rng(SEED)
out = []


def column(a):
    a = np.asarray(a)
    kind = {"i": "int", "f": "float", "b": "bool"}.get(a.dtype.kind, "text")
    return {"kind": kind, "v": [float(x).hex() for x in a] if kind == "float" else [str(x) for x in a] if kind == "int" else a.tolist()}


def case(metric, args, truth, pred, f, targets=None, extra=()):
    names = targets or [f"c{i}" for i in range(len(pred))]
    try:
        with np.errstate(all="ignore"):
            value = float(f()).hex()
    except Exception:
        value = "error"
    out.append({"metric": metric, "args": args, "truth": [column(t) for t in truth] + [column(v) for _, v in extra], "pred": [column(p) for p in pred],
                "targets": names, "names": {"truth": names[: len(truth)] + [n for n, _ in extra], "pred": names}, "score": value})


def rows():
    return int(rng.choice([1, 2, 3, 5, 8, 9, 17, 40, 130]))


def labels(n):
    kind, k = rng.integers(0, 6), int(rng.integers(1, 5))
    if kind == 0:
        return rng.integers(0, 2, n)
    if kind == 1:
        return rng.integers(-1, k, n).astype(float)
    if kind == 2:
        return rng.random(n) < 0.5
    if kind == 3:
        return np.array(["no", "yes", "é", ""], dtype=object)[rng.integers(0, 2 if rng.random() < 0.7 else k, n)]
    if kind == 4:
        return rng.integers(0, k, n)
    return rng.choice([0, 1, 0.5, np.nan, np.inf], n, p=[0.45, 0.45, 0.04, 0.03, 0.03])


def label_pair(n):
    t = labels(n)
    p = np.where(rng.random(n) < 0.6, t, t[::-1]) if rng.random() < 0.8 else labels(n)
    return t, p.astype(t.dtype) if p.dtype != t.dtype and rng.random() < 0.5 and t.dtype.kind != "O" and p.dtype.kind != "O" and np.isfinite(p.astype(float)).all() else p


def family(f, **more):
    def of(t, p, args):
        keys = {k: v for k, v in args.items() if k in ("average", "beta")}
        if args.get("average") == "binary":
            keys["pos_label"] = args["positive"] if np.asarray(t).dtype.kind == "O" else int(args["positive"])
        return f(t, p, **keys, **more)
    return of


FAMILIES = {
    "f1": family(lambda t, p, beta=1, **k: sk.fbeta_score(t, p, beta=beta, **k)), "precision": family(sk.precision_score),
    "recall": family(sk.recall_score), "jaccard": family(sk.jaccard_score),
}


def label_cases():
    for name, f in FAMILIES.items():
        n = rows()
        t, p = label_pair(n)
        for average in ("binary", "micro", "macro", "weighted"):
            args = {"average": average}
            if average == "binary":
                args["positive"] = str(rng.choice(["yes", "yes", "no"])) if t.dtype.kind == "O" else str(rng.choice(["1", "1", "0"]))
            if name == "f1" and rng.random() < 0.7:
                args["beta"] = float(rng.choice([0.5, 2, 0, 1.5]))
            if average == "binary" and t.dtype.kind == "O" and (p.dtype.kind != "O" or args["positive"] not in set(t) | set(p)):
                continue
            case(name, args, [t], [p], lambda: f(t, p, args))
        k, n = int(rng.integers(2, 6)), rows()
        t, p = rng.integers(0, 2, (n, k)), rng.integers(0, 2, (n, k)).astype(rng.choice(["int64", "float64", "bool"]))
        if rng.random() < 0.3:
            t[0], p[0] = 0, 0
        for average in ("micro", "macro", "weighted", "samples"):
            args = {"average": average}
            case(name, args, list(t.T), list(p.T), lambda: f(t, p, args))
    n = rows()
    t, p = label_pair(n)
    for adjusted in (False, True):
        case("balanced_accuracy", {"adjusted": adjusted}, [t], [p], lambda: sk.balanced_accuracy_score(t, p, adjusted=adjusted))
    words = ["a", "b", "c", "d", "e"]
    t, p = ([" ".join(rng.permutation(words)[: rng.integers(0, 4)]) for _ in range(n)] for _ in "tp")
    t[0], p[0] = "a b", "c"
    tt, pp = [x.split() for x in t], [x.split() for x in p]
    mlb = MultiLabelBinarizer(classes=words)
    for beta in (1.0, 2.0):
        case("multilabel_f1", {"average": "samples", "beta": beta}, [np.array(t, dtype=object)], [np.array(p, dtype=object)],
             lambda: sk.fbeta_score(mlb.fit_transform(tt), mlb.transform(pp), average="samples", beta=beta))


def ranked(n):
    kind = rng.integers(0, 5)
    if kind == 0:
        return rng.random(n)
    if kind == 1:
        return np.round(rng.random(n), 1)
    if kind == 2:
        return rng.integers(0, 3, n)
    if kind == 3:
        return rng.choice([2**53, 2**53 + 1, 2**53 + 2, -(2**62)], n)
    return rng.choice([0.0, -0.0, 5e-324, 1e300, -1e300, 0.5, np.nan if rng.random() < 0.3 else 1.0], n)


def score_cases():
    n = rows()
    t, s = rng.integers(0, 2, n), ranked(n)
    for most in (0.05, 0.2, 0.5, 1.0):
        case("roc_auc", {"max_fpr": most}, [t], [s], lambda: sk.roc_auc_score(t, s, max_fpr=most))
    case("average_precision", {}, [t], [s], lambda: sk.average_precision_score(t, s))
    k = int(rng.integers(2, 5))
    tt, ss = rng.integers(0, 2, (n, k)), np.round(rng.random((n, k)), 1)
    case("average_precision", {}, list(tt.T), list(ss.T), lambda: sk.average_precision_score(tt, ss))
    t = labels(n)
    positive = "yes" if t.dtype.kind == "O" else "1"
    p = rng.choice([0.0, 1.0, 0.3, rng.random(), 1.0001 if rng.random() < 0.1 else 0.7], n)
    p = p if rng.random() < 0.9 else rng.integers(0, 2, n)
    legal = "yes" in t if t.dtype.kind == "O" else 1 in t or len(np.unique(t)) < 2  # brier takes any two labels, and then all flags are 0
    if legal:
        case("brier", {"positive": positive}, [t], [p], lambda: sk.brier_score_loss(t, p, pos_label=positive if t.dtype.kind == "O" else 1))
        case("average_precision", {"positive": positive}, [t], [p], lambda: sk.average_precision_score(t, p, pos_label=positive if t.dtype.kind == "O" else 1))


def finite(*arrays):
    for a in arrays:
        if not np.isfinite(np.asarray(a, dtype=float)).all():
            raise ValueError("not finite")


def gini_of(t, by):
    t = np.asarray(t, dtype=float)[np.argsort(-np.asarray(by, dtype=float), kind="stable")]
    return (np.cumsum(t).sum() / t.sum() - (len(t) + 1) / 2) / len(t)


def smape(t, p):
    finite(t, p)
    t, p = np.asarray(t, dtype=float), np.asarray(p, dtype=float)
    down = np.abs(t) + np.abs(p)
    return 100 * np.mean(np.where(down == 0, 0, 2 * np.abs(p - t) / np.where(down == 0, 1, down)))


def rmspe(t, p):
    finite(t, p)
    t, p = np.asarray(t, dtype=float), np.asarray(p, dtype=float)
    return np.sqrt(np.mean(((t[t != 0] - p[t != 0]) / t[t != 0]) ** 2))


def gini(t, p):
    finite(t, p)
    return gini_of(t, p) / gini_of(t, t)


def values(n):
    kind = rng.integers(0, 5)
    if kind == 0:
        return rng.integers(-50, 10 ** int(rng.integers(2, 12)), n)
    if kind == 1:
        return np.repeat(float(rng.integers(0, 2)), n)
    v = rng.random(n) * 10.0 ** rng.integers(-8, 9) * rng.choice([1, -1])
    v[rng.random(n) < 0.1] = 0
    if kind == 2 and rng.random() < 0.3:
        v[0] = rng.choice([np.nan, np.inf, -np.inf])
    return v


def number_cases():
    n = rows()
    t, p = values(n), values(n)
    if rng.random() < 0.2:
        p = t.copy()
    w = rng.choice([0.0, 0.0, 1.0, 2.5, 1e-9], n)
    w[rng.integers(0, n)] = 3
    if rng.random() < 0.3:
        w = np.ceil(w).astype(int)
    weighted = {
        "mae": (sk.mean_absolute_error, {}), "mse": (sk.mean_squared_error, {}), "rmse": (sk.root_mean_squared_error, {}),
        "r2": (sk.r2_score, {}), "mape": (sk.mean_absolute_percentage_error, {}),
        "pinball": (lambda t, p, **k: sk.mean_pinball_loss(t, p, alpha=0.9, **k), {"alpha": 0.9}),
    }
    for name, (f, args) in weighted.items():
        case(name, args, [t], [p], lambda: f(t, p))
        case(name, {**args, "weight": "w"}, [t], [p], lambda: f(t, p, sample_weight=w), extra=[("w", w)])
    a, b = np.abs(t), np.abs(p)
    case("rmsle", {"weight": "w"}, [a], [b], lambda: sk.root_mean_squared_log_error(a, b, sample_weight=w), extra=[("w", w)])
    case("median_absolute_error", {}, [t], [p], lambda: sk.median_absolute_error(t, p))
    case("smape", {}, [t], [p], lambda: smape(t, p))
    if (np.asarray(t) != 0).any():
        case("rmspe", {}, [t], [p], lambda: rmspe(t, p))
    q = np.round(p) if rng.random() < 0.3 else p
    case("gini", {}, [t], [q], lambda: gini(t, q))
    if rng.random() < 0.5:
        t = rng.integers(0, 2, n)
        case("gini", {}, [t], [q], lambda: gini(t, q))


def ndcg(t, s, **k):
    return sk.ndcg_score(t, s, **k)


def query_cases():
    n, k = rows(), int(rng.integers(2, 7))
    t, s = rng.integers(0, 4, (n, k)), np.round(rng.random((n, k)), 1)
    if rng.random() < 0.3:
        t[0] = 0
    for cut in (0, 1, 3, 50):
        case("ndcg", {"k": float(cut)}, list(t.T), list(s.T), lambda: ndcg(t, s, k=cut or None))
    case("ndcg", {"gain": "exponential"}, list(t.T), list(s.T), lambda: ndcg(2.0**t - 1, s))
    g, t, s = np.repeat(np.arange(n), 3), rng.integers(0, 4, 3 * n), np.round(rng.random(3 * n), 1)
    order = rng.permutation(3 * n)
    g, t, s = g[order], t[order], s[order]
    groups = sorted(set(g), key=str)
    case("ndcg", {"group": "g", "k": 2.0}, [t], [s], lambda: np.mean([ndcg([t[g == x]], [s[g == x]], k=2) for x in groups]), extra=[("g", g)])
    time, pred, event = rng.integers(1, 9, n), np.round(rng.random(n), 1), rng.integers(0, 2, n)
    if n > 1:
        time[:2], event[0] = [1, 2], 1
        case("c_index", {"event": "e"}, [time], [pred], lambda: concordance_index(time, pred, event), extra=[("e", event)])
        case("c_index", {"event": "e", "risk": True}, [time], [pred], lambda: concordance_index(time, -pred, event), extra=[("e", event)])
    cdf = np.sort(np.round(rng.random((n, k)), 2), axis=1)
    if rng.random() < 0.2:
        cdf[-1] = cdf[-1][::-1]
    y = rng.integers(-3, 6, n)

    def crps():
        if (np.diff(cdf, axis=1) < 0).any():
            raise ValueError("falls")
        return np.mean((cdf - (y[:, None] <= np.arange(-2, k - 2))) ** 2)
    case("crps", {"value": "y", "first": -2.0}, [], list(cdf.T), crps, targets=[f"c{i}" for i in range(k)], extra=[("y", y)])


def unique(words):
    return list(dict.fromkeys(words))


def list_cases():
    n = rows()
    words = list("abcdefgh")
    t = [" ".join(rng.permutation(words)[: rng.integers(0, 4)]) for _ in range(n)]
    p = [" ".join(rng.choice(words, rng.integers(0, 7))) for _ in range(n)]
    t[0], p[0] = "a b", "c a a b"
    for k in (0, 1, 3):
        def each(of):
            def row(a, b):
                a, b = set(a.split()), b.split()
                cut = k or len(b)
                hits = [i for i, w in enumerate(b[:cut]) if w in a and w not in b[:i]]
                return of(hits, len(a), cut)
            return lambda: np.mean([row(a, b) for a, b in zip(t, p)])
        cells = [np.array(t, dtype=object)], [np.array(p, dtype=object)]
        case("mrr", {"k": float(k)}, *cells, each(lambda h, a, c: 1 / (h[0] + 1) if h else 0))
        case("recall_at_k", {"k": float(k)}, *cells, each(lambda h, a, c: len(h) / a if a else 0))
        case("precision_at_k", {"k": float(k)}, *cells, each(lambda h, a, c: len(h) / c if c else 0))
        case("ndcg_at_k", {"k": float(k)}, *cells, each(lambda h, a, c: sum(1 / math.log2(i + 2) for i in h) / sum(1 / math.log2(i + 2) for i in range(min(a, c))) if h else 0))


def runs(mask):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask, [0]])))
    return " ".join(f"{a + 1} {b - a}" for a, b in zip(edges[::2], edges[1::2]))


def aggregate_cases():
    n, k = rows(), 30
    t, p = [rng.random((n, k)) < share for share in (0.4, 0.5)]
    t[rng.random(n) < 0.3] = False
    p[rng.random(n) < 0.3] = False
    t[0, 0] = True
    p[0, 0] = True
    cells = [np.array([runs(m.astype(int)) for m in x], dtype=object) for x in (t, p)]
    case("mask_iou", {"pixels": float(k)}, [cells[0]], [cells[1]], lambda: np.mean([sk.jaccard_score(a, b, zero_division=1) for a, b in zip(t, p)]))
    past, t = rng.poisson(1, (n, 9)).astype(float), rng.poisson(2, (n, 3)).astype(float)
    p, w = t + rng.normal(0, 1, t.shape), rng.choice([0.0, 1.5, 2, 7.25], n)
    past[:, :3], past[:, 3], w[0] = 0, 1, 3
    past[:, 5] = 3
    levels = {"all": np.repeat("a", n), "half": rng.choice(["x", "y"], n), "own": np.array([f"r{i:03}" for i in range(n)])}

    def wrmsse():
        each = []
        for level in levels.values():
            total = 0.0
            for g in sorted(set(level)):
                at = level == g
                weight = w[at].sum()
                if weight == 0:
                    continue
                h = past[at].sum(axis=0)
                scale = np.mean(np.diff(h[np.flatnonzero(h)[0]:]) ** 2)
                total += weight / w.sum() * math.sqrt(np.mean((t - p)[at].sum(axis=0) ** 2) / scale)
            each.append(total)
        return np.mean(each)
    extra = [(k, v.astype(object)) for k, v in levels.items()] + [(f"d{i}", past[:, i]) for i in range(9)] + [("w", w)]
    case("wrmsse", {"levels": list(levels), "history": [f"d{i}" for i in range(9)], "weight": "w"}, list(t.T), list(p.T), wrmsse, extra=extra)


for _ in range(CASES):
    for part in (label_cases, score_cases, number_cases, query_cases, list_cases, aggregate_cases):
        part()
print(json.dumps({"command": f"python oracle_families.py {CASES} {SEED}", "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}, "
                  f"scikit-learn {sklearn.__version__}, lifelines {lifelines.__version__}"})[:-1] + ', "cases":[\n'
      + ",\n".join(json.dumps(c, separators=(",", ":")) for c in out) + "\n]}")
