"""Times scikit-learn on the shapes of BenchmarkMetrics and BenchmarkLogLoss120: best of several, in milliseconds."""
import time

import numpy as np
from sklearn import metrics as sk

rng = np.random.default_rng(1)


def best(f, n):
    times = []
    for _ in range(n):
        t = time.perf_counter()
        f()
        times.append(time.perf_counter() - t)
    return min(times) * 1e3


for rows in (1_000, 100_000, 1_000_000):
    n = 20 if rows < 10**6 else 4
    t, p = rng.integers(0, 2, rows), rng.random(rows)
    print(f"roc_auc/{rows} {best(lambda: sk.roc_auc_score(t, p), n):.3f}")
    print(f"log_loss/{rows} {best(lambda: sk.log_loss(t, p), n):.3f}")
    a, b = rng.integers(0, 100, rows), rng.integers(0, 100, rows)
    print(f"accuracy/{rows} {best(lambda: sk.accuracy_score(a, b), n):.3f}")
    a, b = rng.integers(0, 6, rows), rng.integers(0, 6, rows)
    print(f"kappa/{rows} {best(lambda: sk.cohen_kappa_score(a, b, weights='quadratic'), n):.3f}")
    onehot = np.eye(120, dtype=np.int64)[rng.integers(0, 120, rows)]
    q = rng.random((rows, 120)) / 120
    import warnings
    warnings.simplefilter("ignore")
    print(f"log_loss120/{rows} {best(lambda: sk.log_loss(onehot, q), max(1, n // 4)):.3f}", flush=True)
