"""Writes vectors.json, the oracle of package split.

Usage: python vectors.py > vectors.json

A case names the function, its arguments and either "error": true or both
parts. Parts of up to 24 rows are stored whole; longer ones as their length,
the first and last rows, and half the SHA-256 of all rows as little-endian
int64. Label columns are not stored but computed: labels(n, k, skew) below.
"""
import hashlib
import json
import os
import platform
import sys

import numpy as np
import sklearn
from sklearn import model_selection as ms

SHORT = 24


def labels(n, k, skew):
    """n labels of k kinds, in no order; skew makes low kinds commoner."""
    out = []
    for i in range(n):
        x = (i * 2654435761 + 12345) % 2**32 >> 7
        v = x % k
        out.append(v * (x // k % k) // k if skew else v)
    return out


def pack(rows):
    a = np.asarray(list(rows), dtype="<i8")
    if len(a) <= SHORT:
        return {"rows": a.tolist()}
    digest = hashlib.sha256(a.tobytes()).hexdigest()[:32]
    return {"len": len(a), "sha256": digest, "head": a[:2].tolist(), "tail": a[-2:].tolist()}


CASES = []


def case(call, args, run):
    out = {"call": call, "args": args}
    try:
        parts = run()
    except (ValueError, AssertionError):
        out["error"] = True
    else:
        out["train"], out["test"] = pack(parts[0]), pack(parts[1])
    CASES.append(out)


def sizes(test, train):
    return {k: v for k, v in (("test_size", test), ("train_size", train)) if v is not None}


def train_test():
    shares = [0.1, 0.15, 0.2, 0.22, 0.25, 1 / 3, 0.19, 0.5, 0.999, 2**-30]
    for n in [1, 2, 3, 4, 5, 9, 10, 11, 19, 20, 21, 100, 999, 1000, 10_031]:
        for test, train in [(s, None) for s in shares] + [(None, 0.75), (None, 0.1), (0.3, 0.6), (None, None), (0.9, 0.1)]:
            for seed in (0, 42) if n < 50 else (0,):
                args = {"n": n, "random_state": seed, **sizes(test, train)}
                case("train_test_split", args, lambda: ms.train_test_split(range(n), random_state=seed, **sizes(test, train)))
    for n, test, train in [
        (15, 3, 12), (14, 3, 12), (20, 3, 12), (10, 10, None), (10, 9, None), (10, 11, None),
        (10, -1, None), (10, None, 10), (10, None, 9), (10, 1.5, None),
        (10, -0.1, None), (10, 0.6, 0.5), (10, 0.5, 6), (10, 5, 0.5), (0, 0.1, None), (0, None, None), (1, 0.5, None),
        (10_031, 9914, None), (9914, 9914, None), (6, 5000, None),
    ]:
        # 0 and a share of 1.0 cannot be said in the language
        args = {"n": n, "random_state": 0, **sizes(test, train)}
        case("train_test_split", args, lambda: ms.train_test_split(range(n), random_state=0, **sizes(test, train)))
    for n, seed, test in [(2**16 - 1, 0, 0.1), (2**16, 0, 0.1), (2**16 + 1, 8, 0.1), (100_003, 42, 0.1), (300_000, 2**32 - 1, 9914)]:
        case("train_test_split", {"n": n, "random_state": seed, "test_size": test}, lambda: ms.train_test_split(range(n), random_state=seed, test_size=test))
    for seed in (-1, 2**32):
        case("train_test_split", {"n": 10, "random_state": seed, "test_size": 0.1}, lambda: ms.train_test_split(range(10), random_state=seed, test_size=0.1))
    for n in (5, 10, 101):
        for test, train in [(0.1, None), (0.3, 0.3), (2, 2), (None, None)]:
            args = {"n": n, "shuffle": False, **sizes(test, train)}
            case("train_test_split", args, lambda: ms.train_test_split(range(n), shuffle=False, **sizes(test, train)))


def stratified():
    for n in [4, 7, 10, 12, 30, 31, 100, 257, 1000, 5000, 100_003]:
        for k in (1, 2, 3, 7, 13, 120):
            for skew in (False, True):
                for seed, test, train in [(0, 0.1, None), (42, 0.25, None), (7, 0.3, 0.5), (1, 0.5, None), (3, None, 0.2)]:
                    if n > 10_000 and seed != 0:
                        continue
                    y = labels(n, k, skew)
                    args = {"n": n, "random_state": seed, "stratify": [k, skew], **sizes(test, train)}
                    case("train_test_split", args, lambda: ms.train_test_split(range(n), random_state=seed, stratify=y, **sizes(test, train)))


def main():
    made = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    for part in (train_test, stratified):
        part()
    command = " ".join(["python", *map(os.path.basename, sys.argv)])
    print("{\n" + f' "command": {json.dumps(command)},\n "made_with": {json.dumps(made)},\n "cases": [')
    print(",\n".join("  " + json.dumps(c, separators=(",", ":")) for c in CASES))
    print(" ]\n}")


if __name__ == "__main__":
    main()
