"""Writes vectors.json, the oracle of package random.

Usage: python vectors.py > vectors.json

Every case is one freshly seeded generator and the calls made on it in turn,
so a call that draws too much or too little spoils all that follow. A result
is stored as its length, its first and last two numbers, and half the SHA-256 of
all of it as little-endian int64 (or float64 where "float" is true).
"""
import hashlib
import json
import os
import platform
import random
import sys

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


def integers(r, draw, after=lambda: None):
    for low, high, n in [
        (0, 1, 5), (0, 2, 33), (1, 7, 50), (0, 676, 40), (-5, 5, 20), (0, 2**31, 9),
        (0, 2**32 - 1, 9), (0, 2**32, 9), (0, 2**32 + 1, 9), (5, 2**40, 9),
        (-(2**63), 2**63 - 1, 7), (0, 2**62 + 1, 25),
    ]:
        r.put("integers", [low, high, n], draw(low, high, size=n))
        after()


def uniform(r):
    r.put("uniform", [1, 100, 6], r.gen.uniform(1, 100, 6))
    r.put("uniform", [-0.25, 0.1, 6], r.gen.uniform(-0.25, 0.1, 6))


def state_calls(r, big):
    g = r.gen
    for n in SIZES + (LONG if big else []):
        r.put("permutation", [n], g.permutation(n))
    integers(r, g.randint, lambda: r.put("permutation", [3], g.permutation(3)))
    uniform(r)
    r.put("uniform", [0, 1, 1], g.uniform(0, 1, 1))


def generator_calls(r):
    uniform(r)
    r.put("uniform", [0, 1, 100], r.gen.uniform(0, 1, 100))


def python_calls(r, big):
    g = r.gen
    for n in SIZES + (LONG if big else []):
        x = list(range(n))
        g.shuffle(x)
        r.put("permutation", [n], x)
    r.put("bits", [1, 2, 31, 32, 33, 48, 63], [g.getrandbits(k) for k in (1, 2, 31, 32, 33, 48, 63)])
    for n in (1, 2, 3, 4, 255, 256, 257, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40):
        r.put("below", [n, 9], [g.randrange(n) for _ in range(9)])
    for n in (1, 2, 3, 10):
        r.put("choice", [n, 12], [g.choice(range(n)) for _ in range(12)])
    for n, k in [
        (0, 0), (1, 1), (20, 20), (21, 5), (22, 5), (21, 0), (22, 1), (85, 6), (86, 6), (85, 21),
        (86, 21), (277, 22), (278, 22), (1000, 85), (1100, 86), (5000, 30), (5000, 4000),
    ]:
        r.put("sample", [n, k], g.sample(range(n), k))


def cases():
    for i, seed in enumerate(SEEDS):
        r = Recorder("RandomState", str(seed), np.random.RandomState(seed))
        state_calls(r, big=i in (0, 4))
        yield r.case
    for seed in SEEDS + [2**32, 2**64 - 1, 0x123456789ABCDEF]:
        r = Recorder("Generator", str(seed), np.random.default_rng(seed))
        generator_calls(r)
        yield r.case
    for i, seed in enumerate(SEEDS + [-1, -42, 2**32, 2**63 - 1, -(2**63)]):
        r = Recorder("Python", str(seed), random.Random(seed))
        python_calls(r, big=i in (0, 4))
        yield r.case


def main():
    made = {
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    command = " ".join(["python", *map(os.path.basename, sys.argv)])
    print("{\n" + f' "command": {json.dumps(command)},\n "made_with": {json.dumps(made)},\n "cases": [')
    print(",\n".join("  " + json.dumps(c, separators=(",", ":")) for c in cases()))
    print(" ]\n}")


main()
