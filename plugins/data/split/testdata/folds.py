"""Writes folds.json: test rows of scikit-learn's splitters.

Usage: python folds.py > folds.json, with numpy 1.26.4 and scikit-learn 1.5.2. numpy sorts without the processor's vector instructions, which
leave equal numbers in another order.
"""
import json
import os

os.environ["NPY_DISABLE_CPU_FEATURES"] = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
import numpy as np
import sklearn
from sklearn import model_selection as ms
from vectors import labels

CASES = []


def case(args, cv, n, y=None, groups=None):
    out = dict(args, n=n)
    try:
        parts = list(cv().split(np.zeros(n), y, groups))
        if args["call"] == "time":
            out["train"] = [[int(a[0]), len(a)] for a, _ in parts]
        if args["call"] == "shuffle":
            out["train"] = [a.tolist() for a, _ in parts]
        out["test"] = [b.tolist() for _, b in parts]
    except ValueError:
        out["error"] = True
    CASES.append(out)


for n in (1, 2, 3, 5, 10, 11, 17, 40, 83):
    for k in (2, 3, 5, 10):
        for seed in (None, 0, 42):
            shuffle = {} if seed is None else {"shuffle": True, "random_state": seed}
            case({"call": "fold", "splits": k, "seed": seed}, lambda: ms.KFold(k, **shuffle), n)
            for classes, skew in ((1, False), (2, True), (3, True), (7, False)):
                args = {"call": "stratified", "splits": k, "seed": seed, "labels": [classes, skew]}
                case(args, lambda: ms.StratifiedKFold(k, **shuffle), n, y=labels(n, classes, skew))
        for groups, skew in ((2, False), (5, True), (20, False), (30, True)):
            case({"call": "group", "splits": k, "labels": [groups, skew]}, lambda: ms.GroupKFold(k), n, groups=labels(n, groups, skew))
        for groups, classes, skew in ((4, 2, False), (20, 3, True), (7, 9, False), (40, 1, False), (30, 12, True)):
            who = labels(n * 3, groups, skew)[n:n + n]
            for seed in (None, 0, 42):
                shuffle = {} if seed is None else {"shuffle": True, "random_state": seed}
                case({"call": "both", "splits": k, "seed": seed, "labels": [classes, skew], "who": who}, lambda: ms.StratifiedGroupKFold(k, **shuffle), n,
                     y=labels(n, classes, skew), groups=who)
        for size, gap, most in ((0, 0, 0), (2, 0, 0), (1, 2, 0), (0, 1, 4), (3, 0, 2)):
            case({"call": "time", "splits": k, "size": size, "gap": gap, "most": most},
                 lambda: ms.TimeSeriesSplit(k, test_size=size or None, gap=gap, max_train_size=most or None), n)
    for seed in (0, 7):
        case({"call": "shuffle", "splits": 4, "seed": seed}, lambda: ms.ShuffleSplit(4, test_size=0.3, random_state=seed), n)
        case({"call": "shuffle", "splits": 4, "seed": seed, "labels": [2, True]}, lambda: ms.StratifiedShuffleSplit(4, test_size=0.3, random_state=seed), n, y=labels(n, 2, True))
head = {"command": "python folds.py", "made_with": f"numpy {np.__version__}, scikit-learn {sklearn.__version__}"}
print(json.dumps(head)[:-1] + ', "cases":[\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]}")
