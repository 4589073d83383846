"""Writes script.json: generated sets of report files and what the reference's script prints for them.

Run as: python script.py aggregate_grading_reports.py | gzip -9n > script.json.gz
where the argument is experiments/aggregate_grading_reports.py of openai/mle-bench at
commit 783b15af77404fbaffe7255b0c4a934b46153389; with numpy 1.26.4 and scipy 1.17.1 (Python 3.11).

Every set is written as files and given to the script's main, whose last printed object is kept. A report is
[competition, gold, silver, bronze, above median, exists, valid, score as written]; the test writes the same files.
The form "reference" has the fields of the reference's grade command, NaN and Infinity as bare words among them, the
form "ours" those of ours, "words" 0, 1 and null for truth values.
"""
import contextlib
import importlib.util
import io
import json
import os
import random
import sys
import tempfile
from pathlib import Path

spec = importlib.util.spec_from_file_location("reference", sys.argv[1])
ref = importlib.util.module_from_spec(spec)
sys.modules["reference"] = ref
spec.loader.exec_module(ref)
random.seed(23)
FIELDS = ["gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists", "valid_submission"]


def report(cid, skill):
    exists = random.random() < 0.92
    valid = exists and random.random() < 0.9
    medal = random.choice(FIELDS[:3]) if valid and random.random() < skill else None
    score = random.choice(["0.5", "-1.25", "1e-07", "NaN", "Infinity", "-Infinity", "0.81235"]) if valid else "null"
    return [cid] + [int(f == medal) for f in FIELDS[:3]] + [int(valid and random.random() < 0.6), int(exists), int(valid), score]


def text(form, reports):
    out = []
    for r in reports:
        flag = {"words": ["null", "1"]}.get(form, ["false", "true"])
        fields = [f'"competition_id": "{r[0]}"'] + [f'"{n}": {flag[v]}' for n, v in zip(FIELDS, r[1:7])]
        score = r[7]
        if form == "ours":
            score = {"NaN": '"nan"', "Infinity": '"inf"', "-Infinity": '"-inf"'}.get(score, score)
        fields.append(f'"score": {score}')
        out.append("{" + ", ".join(fields) + "}")
    return '{"total_runs": %d, "competition_reports": [%s]}' % (len(reports), ", ".join(out))


def run(case, folder):
    paths = []
    for name, form, reports in case["files"]:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text(form, reports))
        paths.append(path)
    split = Path(folder) / "split.txt"
    split.write_text("\n".join(case["ids"]) + "\n")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        ref.main(paths, case["seeds"] or -1, str(split), case["pad"])
    return json.loads(printed.getvalue().split("Average metrics across seeds:\n")[1])


cases = []
for n in range(340):
    ids = [f"c{i:02d}" for i in random.sample(range(80), random.choice([1, 2, 3, 7, 15, 22] + [38, 75] * (n % 10 == 0)))]
    count = random.choice([1, 1, 2, 3, 3, 3, 5, 11])
    skill = random.random()
    names = [random.choice(["seed_{}.json", "b/{}_grading_report.json", "run-group_{}/report.json", "{}.json"]).format(i) for i in range(count)]
    files = []
    for name in names:
        own = [c for c in ids + ["elsewhere"]]
        shape = n % 13
        if shape in (1, 2) and random.random() < 0.5:  # missing competitions
            own = random.sample(own, random.randint(0, len(own)))
        if shape == 3:  # duplicates in a file
            own += random.choices(own, k=random.randint(1, 5))
        if shape == 4 and random.random() < 0.7:  # many files of a few reports each
            own = random.sample(own, 1)
        if shape == 5:  # none at all
            own = ["elsewhere"]
        random.shuffle(own)
        form = random.choice(["reference", "reference", "ours", "words"])
        files.append([name, form, [report(c, skill if shape != 6 else random.choice([0, 1])) for c in own]])
    random.shuffle(files)
    if n % 17 == 0:
        files.append(files[0])  # a file given twice
    case = {"ids": ids, "seeds": random.choice([0, 0, 0, 1, 2, 3, 12]), "pad": n % 13 in (2, 4) or random.random() < 0.25, "files": files}
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = run(case, folder)
            case["count"] = result["num_seeds_averaged"]
            case["metrics"] = {k: [v["mean"], v["standard_error"], v["ci_lower"], v["ci_upper"]]
                               for k, v in result["metrics"].items() if k != "total_competitions"}
        except ValueError as e:
            case["error"] = str(e)[:60]
    cases.append(case)
print(json.dumps({"command": " ".join(["python", *map(os.path.basename, sys.argv)]), "made_with": "mle-bench 783b15a, numpy 1.26.4, scipy 1.17.1", "cases": cases}, separators=(",", ":")))
