"""Writes rules.json: generated runs of agents, and their figures by the rules of benchmarks.

Run as: python rules.py > rules.json
with numpy 1.26.4, scipy 1.17.1 and statsmodels 0.15.0 and pandas 2.2.3 (Python 3.11).

runs[agent][competition] lists [score or null, percentile among the teams, any medal] by seed. Nothing here follows
rule.go: ranks are counted over all choices of one run an agent, the Bradley-Terry model is fitted by a general
optimizer, and p-values of the halved differences are those of scipy's t-test and of the rule of three. The intervals follow the formulas of
plugins/numeric/stat/interval.go. An end of 1e308 is an open one.
"""
import itertools
import json
import math

import numpy as np
from scipy import optimize, stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(23)
CONFIDENCE = 0.95


def rare(n):
    return -math.log((1 - CONFIDENCE) / 2) / n


def across(values):
    """Half the width of the interval over other competitions; None below five of them."""
    n = len(values)
    if n < 5:
        return None
    return max(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * stats.sem(values, ddof=1), rare(n))


def within(runs):
    """Half the width of the interval over other runs; None where a competition has one run."""
    if len(runs[0]) < 2:
        return None
    k = len(runs)
    variance = sum(np.var(r, ddof=1) / len(r) for r in runs) / k**2
    t = stats.t.ppf((1 + CONFIDENCE) / 2, sum(len(r) - 1 for r in runs))
    return math.sqrt(t * t * variance + rare(sum(len(r) for r in runs)) ** 2)


def p_value(differences):
    n, mean = len(differences), float(np.mean(differences))
    if n < 5:
        return 1.0
    by_rare = min(1.0, 2 * math.exp(-n * abs(mean / 2)))
    if np.ptp(differences) == 0:
        return by_rare
    return max(by_rare, float(stats.ttest_1samp(differences, 0).pvalue))


def groups(order, p):
    """Tie groups of agents in order, given p of two of them."""
    pairs = list(itertools.combinations(range(len(order)), 2))
    adjusted = dict(zip(pairs, multipletests([p(order[i], order[j]) for i, j in pairs], method="holm")[1])) if pairs else {}
    out, head, group = {order[0]: 1}, 0, 1
    for at in range(1, len(order)):
        if adjusted[(head, at)] <= 1 - CONFIDENCE:
            head, group = at, group + 1
        out[order[at]] = group
    return [out[i] for i in range(len(order))]


def clip(estimate, half, low, high):
    return None if half is None else [max(low, estimate - half), min(high, estimate + half)]


def own(values, agents, competitions):
    """The figures of a rule by which a run has a value by itself, in percent."""
    means = [[float(np.mean(values[a][c])) for c in range(competitions)] for a in range(agents)]
    out = []
    for a in range(agents):
        mean, half, run = float(np.mean(means[a])), across(means[a]), within(values[a])
        out.append({
            "value": 100 * mean,
            "runs": clip(100 * mean, run and 100 * run, 0, 100),
            "competitions": clip(100 * mean, half and 100 * half, 0, 100),
        })
    return out, means


def quality(run, lower):
    return -math.inf if run[0] is None else -run[0] if lower else run[0]


def ranks(runs, lower):
    """By agent and competition, the mean over all choices of one run an agent of its rank, ties at their mean."""
    out = []
    for c in range(len(lower)):
        total, choices = np.zeros(len(runs)), 0
        for chosen in itertools.product(*[[quality(r, lower[c]) for r in agent[c]] for agent in runs]):
            finite = [-1e300 if q == -math.inf else q for q in chosen]
            total += stats.rankdata([-q for q in finite], method="average")
            choices += 1
        out.append(total / choices)
    return np.array(out).T.tolist()


def beats(first, second, lower):
    pairs = [(quality(x, lower), quality(y, lower)) for x in first for y in second]
    return sum(1.0 if x > y else 0.5 if x == y else 0.0 for x, y in pairs) / len(pairs)


def elo(runs, lower, shares):
    k, n = len(runs), len(lower)
    wins = np.full((k, k), 0.5)
    for i, j in itertools.permutations(range(k), 2):
        wins[i, j] += sum(beats(runs[i][c], runs[j][c], lower[c]) for c in range(n))
    np.fill_diagonal(wins, 0)

    def loss(x):
        d = x[:, None] - x[None, :]
        return float(np.sum(wins * np.logaddexp(0, -d)))

    def slope(x):
        d = x[:, None] - x[None, :]
        chance = 1 / (1 + np.exp(d))  # that i loses
        return -(wins * chance).sum(axis=1) + (wins * chance).sum(axis=0)

    fit = optimize.root(lambda x: np.append(slope(x)[:-1], x.sum()), np.zeros(k), tol=1e-13).x
    assert loss(fit) <= optimize.minimize(loss, np.zeros(k), jac=slope, tol=1e-10).fun + 1e-8
    scale = 400 / math.log(10)
    out = []
    for i in range(k):
        half, others = across(shares[i]), np.delete(fit, i)
        ends = None
        if half is not None:
            mean, ends = float(np.mean(shares[i])), []
            for share, end in ((mean - half, -1e308), (mean + half, 1e308)):
                if not 0 < share < 1:
                    ends.append(end)
                    continue
                aim = (n * share + 0.5) / (n + 1)
                ends.append(1500 + scale * optimize.brentq(lambda x: np.mean(1 / (1 + np.exp(others - x))) - aim, -60, 60, xtol=1e-13))
        out.append({"value": 1500 + scale * float(fit[i]), "runs": None, "competitions": ends})
    return out


def case(agents, competitions, seeds, kind):
    lower = [bool(rng.random() < 0.4) for _ in range(competitions)]
    sample = rng.normal(0, 1, competitions).round(2).tolist()
    best = [s - 2.5 if low else s + 2.5 for s, low in zip(sample, lower)]
    skill = rng.normal(0, 1.5, agents)
    runs = []
    for a in range(agents):
        runs.append([])
        for c in range(competitions):
            at = []
            for _ in range(seeds):
                score = sample[c] + (-1 if lower[c] else 1) * (skill[a] + rng.normal(1, 1))
                score = round(float(score), 1 if kind == "ties" else 6)
                if kind == "invalid" or rng.random() < 0.15:
                    score = None
                if kind == "same":
                    score = 1.5
                at.append([score, int(rng.integers(0, 101)) / 100 if score is not None else 0, bool(score is not None and rng.random() < 0.3)])
            runs[-1].append(at)
    if kind == "sweep":  # one agent wins everything, another loses it
        for c in range(competitions):
            runs[0][c] = [[-100.0 if lower[c] else 100.0, 1, True]] * seeds
            runs[-1][c] = [[None, 0, False]] * seeds
    out = {"lower": lower, "sample": sample, "best": best, "runs": runs, "rules": {}}
    everyone = range(agents)

    def put(name, figures, means, descending=True):
        value = [round(f["value"], 9) for f in figures]
        order = sorted(everyone, key=lambda a: -value[a] if descending else value[a])
        tie = groups(order, lambda x, y: p_value([u - v for u, v in zip(means[x], means[y])]))
        for a in everyone:
            figures[a]["group"] = tie[a]
        out["rules"][name] = figures

    normal = lambda r, c: 0.0 if r[0] is None else float(np.clip((r[0] - sample[c]) / (best[c] - sample[c]), 0, 1))
    put("mean_percentile", *own([[[r[1] for r in runs[a][c]] for c in range(competitions)] for a in everyone], agents, competitions))
    put("normalised_score", *own([[[normal(r, c) for r in runs[a][c]] for c in range(competitions)] for a in everyone], agents, competitions))
    medals, _ = own([[[float(r[2]) for r in runs[a][c]] for c in range(competitions)] for a in everyone], agents, competitions)
    out["rules"]["medals"] = medals  # its tie groups are those of the permutation test, see compare.py
    if agents > 1:
        rank = ranks(runs, lower)
        shares = [[1 - (r - 1) / (agents - 1) for r in of] for of in rank]
        figures = []
        for a in everyone:
            mean, half = float(np.mean(rank[a])), across(shares[a])
            figures.append({"value": mean, "runs": None, "competitions": clip(mean, half and half * (agents - 1), 1, agents)})
        put("mean_rank", figures, shares, descending=False)
        put("elo", elo(runs, lower, shares), shares)
    return out


cases = [case(*args) for args in [
    (1, 6, 3, ""), (2, 1, 1, ""), (2, 5, 1, "sweep"), (2, 12, 2, ""), (3, 4, 2, "ties"), (3, 7, 3, "ties"), (3, 22, 3, ""),
    (4, 5, 2, "invalid"), (4, 30, 1, "sweep"), (4, 8, 2, "same"), (5, 9, 1, "ties"), (6, 15, 2, ""), (3, 40, 1, ""), (2, 75, 3, ""),
]]
print('{"command":"python rules.py","made_with":"numpy 1.26.4, scipy 1.17.1, statsmodels 0.15.0, pandas 2.2.3","cases":[\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]}")
