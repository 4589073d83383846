"""Writes compare.json: generated runs of two agents and what numpy, scipy and statsmodels make of them.

Run as: python compare.py > compare.json
with numpy 1.26.4, scipy 1.17.1, statsmodels 0.15.0 and pandas 2.2.3 (Python 3.11).

A run is [competition, seed, any medal]. The figure is the mean over competitions of the difference of the agents' shares.
The intervals follow the formulas of plugins/numeric/stat/interval.go. The permutation test is counted with fractions;
oracle.py beside that file checks it against scipy.
"""
import json
import math
import os
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(5)


def permutation(strata):
    ways = {Fraction(0): Fraction(1)}
    for a, n, b, m in strata:
        out = {}
        for x in range(max(0, a + b - m), min(n, a + b) + 1):
            step = Fraction(x, n) - Fraction(a + b - x, m)
            share = Fraction(math.comb(n, x) * math.comb(m, a + b - x), math.comb(n + m, a + b))
            for s, p in ways.items():
                out[s + step] = out.get(s + step, 0) + p * share
        ways = out
    observed = abs(sum(Fraction(a, n) - Fraction(b, m) for a, n, b, m in strata))
    beyond = lambda distance: float(sum(p for s, p in ways.items() if abs(s) >= distance))
    return beyond(observed), beyond(max(map(abs, ways)))


def around(estimate, half):
    return [max(-100, 100 * (estimate - half)), min(100, 100 * (estimate + half))]


cases = []
for n in range(30):
    ids = [f"c{i:02d}" for i in range(int(rng.integers(2, 11)))]
    counts = [2, 3, 4] if n % 2 else [3] if n % 4 else [1, 1, 1, 2]
    agents = []
    for skill in rng.random(2):
        runs = []
        for cid in ids:
            if rng.random() < 0.1:
                continue
            for seed in rng.permutation(int(rng.choice(counts))):
                runs.append([cid, str(seed) if n % 3 else "", int(rng.random() < skill)])
        agents.append(runs)
    tables = [pd.DataFrame(runs, columns=["id", "seed", "medal"]).groupby("id").medal.agg(["sum", "count", "mean", "var"]) for runs in agents]
    both = tables[0].join(tables[1], how="inner", lsuffix="_a", rsuffix="_b")
    k, difference = len(both), both.mean_a - both.mean_b
    runs = [int(both.count_a.sum()), int(both.count_b.sum())]
    within = across = None
    if min(both.count_a.min(), both.count_b.min()) > 1:
        variance = ((both.var_a / both.count_a).sum() + (both.var_b / both.count_b).sum()) / k**2
        unseen = sum((math.log(40) / r)**2 for r in runs) / 2
        within = around(difference.mean(), math.sqrt(stats.t.ppf(0.975, sum(runs) - 2 * k)**2 * variance + unseen))
    if k >= 5:
        across = around(difference.mean(), max(stats.sem(difference) * stats.t.ppf(0.975, k - 1), math.log(40) / k))
    p, smallest = permutation(both[["sum_a", "count_a", "sum_b", "count_b"]].to_numpy().tolist())
    if within and p > 0.05:  # the test does not tell them apart
        within = [min(within[0], 0), max(within[1], 0)]
    # Without ranks there are seven shares of runs: any medal and bronze are these, the other five never differ.
    adjusted = float(multipletests([p, p] + [1] * 5, method="holm")[1][0])
    cases.append({
        "first": agents[0], "second": agents[1], "runs": runs, "competitions": k, "means": [float(both.mean_a.mean() * 100), float(both.mean_b.mean() * 100)],
        "within": within, "across": across, "p": p, "smallest": smallest, "adjusted": adjusted,
    })
print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "made_with": "numpy 1.26.4, scipy 1.17.1, statsmodels 0.15.0, pandas 2.2.3", "cases": cases},
                 separators=(",", ":")).replace('{"first"', '\n{"first"'))
