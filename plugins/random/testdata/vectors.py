"""Writes vectors.json, the oracle of package random.

Usage: python vectors.py > vectors.json

Every case is one freshly seeded generator and the calls made on it in turn,
so a call that draws too much or too little spoils all that follow. A result
is stored as its length, its first and last two numbers, and half the SHA-256 of
all of it as little-endian int64 (or float64 where "float" is true).
"""
import hashlib
import json
import platform
import random

import numpy as np

EDGE = 2
SEEDS = [0, 1, 7, 8, 42, 1234, 2**31, 2**32 - 1]
SIZES = [0, 1, 2, 3, 4, 5, 10, 31, 32, 33, 100, 1023, 1024, 1025, 1026]
LONG = [2**16 - 1, 2**16, 2**16 + 1, 100_003]


def pack(value):
    a = np.atleast_1d(np.asarray(value))
    real = a.dtype.kind == "f" and len(a) > 0
    a = a.astype("<f8" if real else "<i8")
    out = {"len": len(a), "sha256": hashlib.sha256(a.tobytes()).hexdigest()[:32]}
    if real:
        out["float"] = True
    out["head"] = a[:EDGE].tolist()
    if len(a) > EDGE:
        out["tail"] = a[-EDGE:].tolist()
    return out


class Recorder:
    def __init__(self, source, seed, gen):
        self.gen = gen
        self.case = {"source": source, "seed": seed, "calls": []}

    def put(self, call, args, value):
        self.case["calls"].append({"call": call, "args": args, "want": pack(value)})


def weights(n, k):
    """n probabilities that repeat, k of them zero, computed alike everywhere."""
    w = [0.0 if i < k else 1.0 + (i * 7919) % 13 for i in range(n)]
    total = sum(w)
    return [x / total for x in w]


def numpy_calls(r, big):
    g = r.gen
    whole = g.randint if isinstance(g, np.random.RandomState) else g.integers
    real = g.random_sample if isinstance(g, np.random.RandomState) else g.random
    for n in SIZES + (LONG if big else []):
        r.put("permutation", [n], g.permutation(n))
    for n in (1, 2, 17, 1000):
        x = np.arange(n)
        g.shuffle(x)
        r.put("shuffle", [n], x)
        x = list(range(n))
        g.shuffle(x)
        r.put("shuffle", [n], x)
    for low, high, n in [
        (0, 1, 5), (0, 2, 33), (1, 7, 50), (0, 676, 40), (-5, 5, 20), (0, 2**31, 9),
        (0, 2**32 - 1, 9), (0, 2**32, 9), (0, 2**32 + 1, 9), (5, 2**40, 9),
        (-(2**63), 2**63 - 1, 7), (0, 2**62 + 1, 25),
    ]:
        r.put("integers", [low, high, n], whole(low, high, size=n))
        r.put("permutation", [3], g.permutation(3))
    r.put("random", [7], real(7))
    r.put("uniform", [1, 100, 6], g.uniform(1, 100, 6))
    r.put("uniform", [-0.25, 0.1, 6], g.uniform(-0.25, 0.1, 6))
    sizes = [(1, 1), (5, 0), (5, 5), (100, 10), (10_000, 300), (10_001, 200), (10_001, 201)]
    if big:
        sizes += [(12_000, 12_000), (70_000, 1_399), (70_000, 1_401), (70_000, 60_000)]
    for n, k in sizes:
        r.put("choice", [n, k], g.choice(n, k, replace=False))
        r.put("choice_replace", [n, k], g.choice(n, k, replace=True))
    for n, zero, k in [(2, 0, 1), (5, 2, 3), (10, 0, 10), (40, 8, 20), (500, 100, 400)]:
        p = weights(n, zero)
        r.put("weighted", [n, zero, k], g.choice(n, k, replace=False, p=p))
        r.put("weighted_replace", [n, zero, 3 * k], g.choice(n, 3 * k, replace=True, p=p))
    for _ in range(6):
        r.put("weighted", [2, 0, 1], g.choice(2, replace=False, p=weights(2, 0)))
    r.put("random", [1], real(1))


def python_calls(r, big):
    g = r.gen
    for n in SIZES + (LONG if big else []):
        x = list(range(n))
        g.shuffle(x)
        r.put("permutation", [n], x)
    r.put("bits", [1, 2, 31, 32, 33, 48, 63], [g.getrandbits(k) for k in (1, 2, 31, 32, 33, 48, 63)])
    for n in (1, 2, 3, 4, 255, 256, 257, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40):
        r.put("below", [n, 9], [g.randrange(n) for _ in range(9)])
    for low, high, n in [(0, 1009, 9), (-3, 3, 20), (5, 5, 4), (0, 2**33, 6)]:
        r.put("integers", [low, high, n], [g.randint(low, high) for _ in range(n)])
    for n in (1, 2, 3, 10):
        r.put("choice", [n, 12], [g.choice(range(n)) for _ in range(12)])
    for n, k in [
        (0, 0), (1, 1), (20, 20), (21, 5), (22, 5), (21, 0), (22, 1), (85, 6), (86, 6), (85, 21),
        (86, 21), (277, 22), (278, 22), (1000, 85), (1100, 86), (5000, 30), (5000, 4000),
    ]:
        r.put("sample", [n, k], g.sample(range(n), k))
    r.put("random", [7], [g.random() for _ in range(7)])
    r.put("uniform", [1, 100, 6], [g.uniform(1, 100) for _ in range(6)])
    for n, k in [(1, 3), (3, 20), (1000, 30)]:
        r.put("choice_replace", [n, k], g.choices(range(n), k=k))
    for n, zero, k in [(2, 0, 9), (40, 8, 60)]:
        r.put("weighted_replace", [n, zero, k], g.choices(range(n), weights(n, zero), k=k))
    r.put("random", [1], g.random())


def cases():
    for i, seed in enumerate(SEEDS):
        r = Recorder("RandomState", str(seed), np.random.RandomState(seed))
        numpy_calls(r, big=i in (0, 4))
        yield r.case
    for key in ([0], [1, 2, 3], list(range(700))):
        r = Recorder("RandomStateKey", str(len(key)), np.random.RandomState(key))
        r.case["key"] = key if len(key) < 10 else []
        r.put("permutation", [1000], r.gen.permutation(1000))
        yield r.case
    for i, seed in enumerate(SEEDS + [2**32, 2**64 - 1, 0x123456789ABCDEF]):
        r = Recorder("Generator", str(seed), np.random.default_rng(seed))
        numpy_calls(r, big=i in (0, 4))
        yield r.case
    for i, seed in enumerate(SEEDS + [-1, -42, 2**32, 2**63 - 1, -(2**63)]):
        r = Recorder("Python", str(seed), random.Random(seed))
        python_calls(r, big=i in (0, 4))
        yield r.case
    for text in ("", "a", "mleflow", "naïve 雪", "x" * 3000):
        r = Recorder("PythonText", text if len(text) < 100 else "", random.Random(text))
        if len(text) >= 100:
            r.case["repeat"] = [text[0], len(text)]
        python_calls(r, big=False)
        yield r.case


def main():
    made = {
        "made_by": "testdata/vectors.py",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    print("{\n" + f' "made_with": {json.dumps(made)},\n "cases": [')
    print(",\n".join("  " + json.dumps(c, separators=(",", ":")) for c in cases()))
    print(" ]\n}")


main()
