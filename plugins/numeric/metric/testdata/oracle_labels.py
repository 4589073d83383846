"""Writes oracle_labels.json: scores of labels, or of ranks, whose columns are numbers of different kinds, integers beyond 63 bits among them.

Run as: python oracle_labels.py CASES SEED > oracle_labels.json, with the arguments in the file's "command": cases per metric and the seed,
with numpy 1.26.4, scikit-learn 1.5.2 (Python 3.11). No truth has two integers of one double. Scores are hexadecimal floats, "error" where the library raises.
"""
import json
import sys
import warnings

import numpy as np
import sklearn
from sklearn import metrics as sk

warnings.filterwarnings("ignore")
CASES, SEED = map(int, sys.argv[1:])
rng = np.random.default_rng(SEED)
KINDS = {"int": np.int64, "uint": np.uint64, "float": np.float64, "bool": bool}
SMALL = [0, 1, 2, 3, 5]
POOLS = {
    "int": [SMALL, [-1, 0, 1, 2], [1, 2, 2**53, 2**53 + 1, -(2**53) - 1], [2**63 - 1, 2**63 - 2, -(2**63), 1, 2]],
    "uint": [[1, 2, 3, 2**64 - 1], [1, 2, 2**63, 2**63 + 1], [2**64 - 1, 2**64 - 2, 1], [2**53, 2**53 + 1, 2**63 + 2048, 3], SMALL],
    "float": [SMALL, [1, 2, -0.0, 0], [2**53, 1, 2, 3], [1, 2.5], [2.0**62, 2, 1]],
    "bool": [[False, True], [True], [False]],
}
TRUTHS = {"int": [1, 2, 2**53, -(2**53) - 1, 2**63 - 1], "float": [1, 2.5], "bool": [True]}
METRICS = [
    ("kappa", {"weights": "none"}, lambda t, p: sk.cohen_kappa_score(p, t)),
    ("kappa", {"weights": "quadratic"}, lambda t, p: sk.cohen_kappa_score(p, t, weights="quadratic")),
    ("f1", {"average": "macro"}, lambda t, p: sk.f1_score(t, p, average="macro")),
    ("accuracy", {}, sk.accuracy_score),
    ("mcc", {}, sk.matthews_corrcoef),
    ("roc_auc", {}, sk.roc_auc_score),
]


def draw(kind, n, pool):
    return np.array([pool[i] for i in rng.integers(0, len(pool), n)], dtype=KINDS[kind])


def column(a):
    kind = {"i": "int", "u": "uint", "f": "float", "b": "bool"}[a.dtype.kind]
    return {"kind": kind, "v": [x.hex() if kind == "float" else x if kind == "bool" else str(x) for x in a.tolist()]}


def score(f):
    try:
        return float(f()).hex()
    except Exception:
        return "error"


cases = []
for name, args, f in METRICS:
    for _ in range(CASES):
        n = int(rng.integers(1, 9))
        truth_kind = rng.choice(["int", "int", "int", "float", "bool"])
        truth = draw(truth_kind, n, SMALL if rng.random() < 0.8 else TRUTHS[truth_kind])
        if name == "roc_auc":
            truth = rng.integers(0, 2, n)
        kind = rng.choice(list(KINDS))
        pred = draw(kind, n, POOLS[kind][rng.integers(0, len(POOLS[kind]))])
        if kind != "bool" and name != "roc_auc":
            pred = np.where(rng.random(n) < 0.5, truth.astype(KINDS[kind]), pred)
        cases.append({"metric": name, "args": args, "truth": [column(truth)], "pred": [column(pred)], "targets": ["c0"], "score": score(lambda: f(truth, pred))})
print(json.dumps({"command": f"python oracle_labels.py {CASES} {SEED}", "made_with": f"numpy {np.__version__}, scikit-learn {sklearn.__version__}"})[:-1] + ', "cases":[\n'
      + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]}")
