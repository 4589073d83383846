"""Writes board.json: random sets of reports and what the reference's aggregation makes of them.

Run as: python board.py aggregate_grading_reports.py > board.json
where the argument is experiments/aggregate_grading_reports.py of openai/mle-bench at
commit 783b15af77404fbaffe7255b0c4a934b46153389; with numpy 1.26.4 and scipy 1.13.1.
"""
import importlib.util
import json
import os
import random
import sys

spec = importlib.util.spec_from_file_location("reference", sys.argv[1])
ref = importlib.util.module_from_spec(spec)
sys.modules["reference"] = ref
spec.loader.exec_module(ref)
random.seed(7)
FIELDS = ["gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists", "valid_submission"]


def report(cid):
    exists = random.random() < 0.9
    valid = exists and random.random() < 0.9
    medal = random.choice(FIELDS[:3] + [None] * 2) if valid else None
    return ref.CompetitionReport(competition_id=cid, **{f: f == medal for f in FIELDS[:3]},
                                 above_median=valid and random.random() < 0.6, submission_exists=exists, valid_submission=valid)


cases = []
for n in range(60):
    ids = [f"c{i:02d}" for i in random.sample(range(30), random.randint(1, 24))]
    counts = {cid: random.choice([3, 3, 3, 2, 4]) for cid in ids}
    if n % 5 == 0:
        counts = dict.fromkeys(ids, 1)
    if n % 7 == 0:
        counts[ids[0]] = 0
    if n % 11 == 0:
        counts = dict.fromkeys(ids, random.randint(1, 9))
    if n == 59:
        counts = dict.fromkeys(ids, 0)
    pool = [cid for cid in ids + ["other"] for _ in range(counts.get(cid, 2))]
    random.shuffle(pool)
    reports = [report(cid) for cid in pool]
    wanted, pad = random.choice([-1, -1, 1, 2, 3]), random.random() < 0.4
    case = {"ids": ids, "seeds": wanted, "pad": pad,
            "reports": [[r.competition_id] + [int(getattr(r, f)) for f in FIELDS] for r in reports]}
    try:
        seeds = ref.select_seeds(ref.build_complete_seeds(reports, ids, wanted, pad_missing=pad), wanted)
        result = ref.average_metrics_across_seeds([ref.calculate_metrics_for_a_seed(s) for s in seeds], len(ids))
        case["count"] = result.num_seeds_averaged
        case["metrics"] = {k: [v.mean, v.standard_error, v.ci_lower, v.ci_upper]
                           for k, v in result.metrics.items() if k != "total_competitions"}
    except ValueError:
        case["error"] = True
    cases.append(case)
print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "made_with": "mle-bench 783b15a, numpy 1.26.4, scipy 1.13.1", "cases": cases},
                 separators=(",", ":")).replace('{"ids"', '\n{"ids"'))
