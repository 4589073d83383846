"""Writes oracle.json: what statsmodels and scipy make of generated outcomes of two agents.

Run as: python oracle.py > oracle.json
with numpy 1.26.4, scipy 1.17.1 and statsmodels 0.15.0 (Python 3.11).
"""
import json
import math
import os
import sys
from fractions import Fraction

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(11)

tests = []
for b, c in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 5), (5, 0), (0, 6), (3, 9), (9, 3), (20, 20), (20, 21), (100, 150), (400, 300), (2, 1000)] + \
        rng.integers(0, 60, (40, 2)).tolist():
    tests.append([b, c, float(mcnemar([[7, b], [c, 11]], exact=True).pvalue)])

# The exact permutation test, with fractions: every competition's successes are given to the runs in all ways.
def permutation(strata):
    ways = {Fraction(0): Fraction(1)}
    for a, n, b, m in strata:
        step = {}
        for x in range(max(0, a + b - m), min(n, a + b) + 1):
            step[Fraction(x, n) - Fraction(a + b - x, m)] = Fraction(math.comb(n, x) * math.comb(m, a + b - x), math.comb(n + m, a + b))
        ways_ = {}
        for s, p in ways.items():
            for t, q in step.items():
                ways_[s + t] = ways_.get(s + t, 0) + p * q
        ways = ways_
    observed = abs(sum(Fraction(a, n) - Fraction(b, m) for a, n, b, m in strata))
    beyond = lambda distance: sum(p for s, p in ways.items() if abs(s) >= distance)
    return beyond(observed), beyond(max(map(abs, ways)))


tables = []
for i in range(40):
    count = [1, 2, 3, 7, 22][i % 5]
    sizes = (lambda: (3, 3)) if i % 3 == 0 else (lambda: (1, 1)) if i % 3 == 1 else (lambda: tuple(rng.integers(1, 6, 2)))
    strata = []
    for _ in range(count):
        n, m = map(int, sizes())
        strata.append([int(rng.integers(0, n + 1)), n, int(rng.integers(0, m + 1)), m])
    p, smallest = permutation(strata)
    tables.append([strata, float(p), float(smallest)])
    n, m, b, c = strata[0][1], strata[0][3], sum(s[0] > s[2] for s in strata), sum(s[0] < s[2] for s in strata)
    if i % 3 == 1:  # one run each: statsmodels' exact test of McNemar
        assert abs(mcnemar([[0, b], [c, 0]], exact=True).pvalue - float(p)) < 1e-12
    if count == 1 and min(n, m) > 1:  # one competition: scipy's permutation test of two independent samples
        x, y = [1] * strata[0][0] + [0] * (n - strata[0][0]), [1] * strata[0][2] + [0] * (m - strata[0][2])
        r = stats.permutation_test((np.array(x, float), np.array(y, float)), lambda x, y, axis: np.abs(x.mean(axis) - y.mean(axis)),
                                   n_resamples=np.inf, alternative="greater", vectorized=True)
        assert abs(r.pvalue - float(p)) < 1e-12, (strata, r.pvalue, p)
        if n == m:
            assert abs(stats.fisher_exact([[strata[0][0], n - strata[0][0]], [strata[0][2], m - strata[0][2]]]).pvalue - float(p)) < 1e-12

students = [[level, df, float(stats.t.ppf((1 + level) / 2, df))] for level in [0.5, 0.8, 0.9, 0.95, 0.99, 0.999] for df in [1, 2, 3, 4, 5, 8, 21, 44, 100, 299, 1000]]

holms = []
for n in [1, 2, 3, 7, 20]:
    ps = [float(p) for p in np.round(rng.random(n) ** 3, 4)]
    holms.append([ps, [float(p) for p in multipletests(ps, method="holm")[1]]])

# Half-widths, by the formulas of interval.go with scipy's quantiles.
halves = []
for i in range(30):
    count, groups = [1, 2, 5, 22][i % 4], []
    rate = [0.0, 0.05, 0.3, 1.0][i % 3]
    for _ in range(1 + i % 2):
        groups.append([(rng.random(int(rng.integers(2, 6))) < rate).astype(float).tolist() for _ in range(count)])
    level = [0.9, 0.95][i % 2]
    df = sum(len(s) - 1 for g in groups for s in g)
    variance = sum(sum(np.var(s, ddof=1) / len(s) for s in g) / count**2 for g in groups)
    unseen = sum((math.log(2 / (1 - level)) / sum(map(len, g)))**2 for g in groups) / len(groups)
    within = math.sqrt(stats.t.ppf((1 + level) / 2, df)**2 * variance + unseen)
    values = [float(np.mean(s)) for s in groups[0]]
    across = max(stats.sem(values) * stats.t.ppf((1 + level) / 2, count - 1), math.log(2 / (1 - level)) / count) if count >= 5 else None
    halves.append({"level": level, "groups": groups, "within": within, "across": across and float(across)})

welches = []
for n, m in [(2, 2), (2, 5), (3, 3), (10, 4)]:
    x, y = rng.normal(size=n), 3 * rng.normal(size=m)
    v, w = np.var(x, ddof=1) / n, np.var(y, ddof=1) / m
    r = stats.ttest_ind(x, y, equal_var=False)
    assert abs(r.df - (v + w)**2 / (v**2 / (n - 1) + w**2 / (m - 1))) < 1e-9
    welches.append([x.tolist(), y.tolist(), float(stats.t.ppf(0.975, math.floor(r.df)) * math.sqrt(v + w))])

normal = []
for p in [1e-300, 1e-20, 1e-6, 0.001, 0.025, 0.05, 0.3, 0.5, 0.77, 0.975, 0.999, 1 - 1e-12]:
    normal.append([p, float(scipy.special.ndtri(p)), float(scipy.special.ndtr(scipy.special.ndtri(p)))])

print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
                  "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}, statsmodels {statsmodels.__version__}",
                  "mcnemar": tests, "permutation": tables, "student": students, "holm": holms, "halves": halves, "welch": welches,
                  "normal": normal}).replace('"permutation"', '\n"permutation"').replace('{"level"', '\n{"level"'))
