"""Writes oracle.json: what statsmodels and scipy make of generated paired outcomes.

Run as: python oracle.py > oracle.json
with numpy 1.26.4, scipy 1.17.1 and statsmodels 0.15.0 (Python 3.11).
"""
import json
import math
import os
import sys

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

rng = np.random.default_rng(11)

tests = []
for b, c in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 5), (5, 0), (0, 6), (3, 9), (9, 3), (20, 20), (20, 21), (100, 150), (400, 300), (2, 1000)] + \
        rng.integers(0, 60, (40, 2)).tolist():
    tests.append([b, c, float(mcnemar([[7, b], [c, 11]], exact=True).pvalue)])

flips = []
for n in [2, 2, 3, 5, 8, 10, 12] * 4:
    d = rng.integers(-3, 4, n)
    p = stats.permutation_test((d.astype(float), np.zeros(n)), lambda x, y: np.sum(x - y), permutation_type="samples",
                               n_resamples=math.inf).pvalue
    flips.append([d.tolist(), float(p)])

normal = []
for p in [1e-300, 1e-20, 1e-6, 0.001, 0.025, 0.05, 0.3, 0.5, 0.77, 0.975, 0.999, 1 - 1e-12]:
    normal.append([p, float(scipy.special.ndtri(p)), float(scipy.special.ndtr(scipy.special.ndtri(p)))])

boots = []
for n in range(40):
    count = 1 if n % 3 == 0 else int(rng.integers(2, 9))
    size = int(rng.integers(2, 6))
    strata = [rng.integers(-1, 2, int(rng.integers(8, 60)) if count == 1 else size if n % 2 else int(rng.integers(2, 7))) for _ in range(count)]
    if n % 5 == 0:
        strata = [s * 3 + 1 for s in strata]
    common = math.lcm(*[len(s) for s in strata])

    # Whole numbers but for the jackknife, so that equal resamples compare as equal.
    def statistic(*samples, axis=-1):
        return sum(np.sum(s, axis=axis) * common / s.shape[-1] for s in samples)

    seed, resamples, level = int(rng.integers(0, 1000)), int(rng.choice([99, 1000, 2500])), float(rng.choice([0.9, 0.95, 0.99]))
    case = {"strata": [s.tolist() for s in strata], "seed": seed, "resamples": resamples, "level": level}
    for method in ["percentile", "BCa"]:
        r = stats.bootstrap([s.astype(np.int64) for s in strata], statistic, paired=False, vectorized=True, n_resamples=resamples,
                            confidence_level=level, method=method, rng=np.random.default_rng(seed)).confidence_interval
        ends = [float(v) / common / len(strata) for v in r]
        case[method] = ends if all(map(math.isfinite, ends)) else None
    boots.append(case)

print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
                  "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}, statsmodels {statsmodels.__version__}",
                  "mcnemar": tests, "signflip": flips, "normal": normal, "bootstrap": boots}).replace('{"strata"', '\n{"strata"'))
