"""Writes compare.json: generated runs of two agents and what statsmodels and scipy make of their pairs.

Run as: python compare.py > compare.json
with numpy 1.26.4, scipy 1.17.1, statsmodels 0.15.0 and pandas 2.2.3 (Python 3.11).

A run is [competition, seed, any medal]. Pairs are made with pandas.merge, on competition and seed, or on competition and
the number of the run at it where a seed is missing.
"""
import json
import math
import os
import sys

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

rng = np.random.default_rng(5)


def boot(samples, statistic, resamples, seed):
    out = {}
    for method in ["percentile", "BCa"]:
        r = stats.bootstrap(samples, statistic, paired=False, vectorized=True, n_resamples=resamples, confidence_level=0.95,
                            method=method, rng=np.random.default_rng(seed)).confidence_interval
        ends = [float(r.low), float(r.high)]
        out[method] = ends if all(map(math.isfinite, ends)) else None
    return out


cases = []
for n in range(30):
    ids = [f"c{i:02d}" for i in range(int(rng.integers(2, 11)))]
    counts = [2, 3, 4] if n % 2 else [3]
    agents = []
    for skill in rng.random(2):
        runs = []
        for cid in ids:
            if rng.random() < 0.1:
                continue
            for seed in rng.permutation(int(rng.choice(counts))):
                runs.append([cid, str(seed) if n % 3 else "", int(rng.random() < skill)])
        agents.append(runs)
    frames = [pd.DataFrame(runs, columns=["id", "seed", "medal"]) for runs in agents]
    for f in frames:
        f["number"] = f.groupby("id").cumcount()
    pairs = frames[0].merge(frames[1], on=["id", "seed" if n % 3 else "number"], suffixes=("_a", "_b"))
    d = pairs.medal_a - pairs.medal_b
    b, c = int((d == 1).sum()), int((d == -1).sum())
    groups = d.groupby(pairs.id)
    common = math.lcm(*groups.size())
    strata = [g.to_numpy() for _, g in groups]
    means = np.array([int(g.sum()) * (common // len(g)) for g in strata])
    seed, resamples = int(rng.integers(0, 99)), 600

    def total(*samples, axis=-1):
        return sum(np.sum(s, axis=axis) * common / s.shape[-1] for s in samples)

    def whole(s, axis=-1):
        return np.sum(s, axis=axis) * (len(means) / s.shape[-1])

    points = lambda r: {k: v and [x / common / len(means) * 100 for x in v] for k, v in r.items()}
    flip = stats.permutation_test((groups.sum().to_numpy().astype(float), np.zeros(len(means))), lambda x, y: np.sum(x - y),
                                  permutation_type="samples", n_resamples=math.inf).pvalue if len(means) > 1 else None
    cases.append({
        "first": agents[0], "second": agents[1], "by": "seed" if n % 3 else "order", "seed": seed, "resamples": resamples,
        "pairs": len(pairs), "table": [int((pairs.medal_a & pairs.medal_b).sum()), b, c, int((~(pairs.medal_a | pairs.medal_b) & 1).sum())],
        "mcnemar": float(mcnemar([[0, b], [c, 0]], exact=True).pvalue), "flip": flip and float(flip),
        "means": [float(groups_.groupby(pairs.id).mean().mean() * 100) for groups_ in (pairs.medal_a, pairs.medal_b)],
        "stratified": points(boot([s.astype(np.int64) for s in strata], total, resamples, seed)) if min(map(len, strata)) > 1 else None,
        "clustered": points(boot([means], whole, resamples, seed)) if len(means) > 1 else None,
    })
print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "made_with": "numpy 1.26.4, scipy 1.17.1, statsmodels 0.15.0, pandas 2.2.3", "cases": cases},
                 separators=(",", ":")).replace('{"first"', '\n{"first"'))
