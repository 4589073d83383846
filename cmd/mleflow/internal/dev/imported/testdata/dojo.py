"""Makes cases for metrics of MLE-Dojo and grades them by its own code.

    python dojo.py CHECKOUT ID... >cases.json

For each competition it makes up answers and submissions with the columns that the metric
takes, writes them to CASES/ID (the variable CASES), and prints what the metric says: a
score, or null where it raises. Python needs pandas and scikit-learn in the versions of
competitions/importer.
"""

import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
ROWS = 60


def metric(root, name):
    from mledojo.metrics.base import CompetitionMetrics

    path = f"{root}/mledojo/competitions/{name}/utils/metric.py"
    spec = importlib.util.spec_from_file_location("metric_" + re.sub(r"\W", "_", name), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [c for _, c in inspect.getmembers(module, inspect.isclass) if issubclass(c, CompetitionMetrics) and c is not CompetitionMetrics]
    return found[0](), open(path, encoding="utf-8").read()


def score(root, name, submission, answers):
    judge, _ = metric(root, name)
    guess, truth = pd.read_csv(submission), pd.read_csv(answers)
    try:
        judge.validate_submission(guess, truth)
        return float(judge.evaluate(truth, guess))
    except Exception:
        return None


def cases(root, name, folder, random):
    """Writes the cases of a competition whose metric takes an id and a value, or returns False."""
    text = metric(root, name)[1]
    value = re.search(r'value: str = "([^"]+)"', text)
    if not value:
        return False
    value = value.group(1)
    ids = [word for word in dict.fromkeys(re.findall(r"[\"']([A-Za-z_][A-Za-z_0-9 ]{1,30})[\"']", text)) if word != value][:6]
    for key, kind in itertools.product(ids + ["Id", "id"], ["float", "binary", "class"]):
        truth, guess = {
            "float": lambda: (np.round(random.uniform(1, 50, ROWS), 3),) * 2,
            "binary": lambda: (random.randint(0, 2, ROWS), np.round(random.uniform(0, 1, ROWS), 4)),
            "class": lambda: (random.randint(1, 5, ROWS), random.randint(1, 5, ROWS)),
        }[kind]()
        if kind == "float":
            guess = np.round(truth + random.normal(0, 0.3, ROWS), 3)
        answers = pd.DataFrame({key: range(100, 100 + ROWS), value: truth})
        sample = answers.assign(**{value: guess})
        files = {
            "guess": sample, "perfect": answers, "reversed": sample[::-1], "short": sample[:-1], "nocolumn": sample.drop(columns=value),
            "moved": sample.assign(**{value: guess[::-1]}), "ids": sample.assign(**{key: sample[key] + 1}), "texts": sample.assign(**{value: "text"}),
            "missing": sample.assign(**{value: np.where(np.arange(ROWS) % 3 == 0, np.nan, guess)}),
        }
        os.makedirs(folder, exist_ok=True)
        answers.to_csv(f"{folder}/answers.csv", index=False)
        for case, table in files.items():
            table.to_csv(f"{folder}/{case}.csv", index=False)
        if score(root, name, f"{folder}/guess.csv", f"{folder}/answers.csv") not in (None, float("nan")):
            return True
    return False


def main(root, *names):
    sys.path.insert(0, root)
    random, out = np.random.RandomState(7), {}
    for name in names:
        folder = os.path.join(os.environ["CASES"], name)
        if cases(root, name, folder, random):
            given = sorted(f for f in os.listdir(folder) if f != "answers.csv")
            out[name] = {f: score(root, name, f"{folder}/{f}", f"{folder}/answers.csv") for f in given}
            out[name] = {f: str(v) if v is not None else None for f, v in out[name].items()}
    json.dump(out, sys.stdout, indent=1)


main(*sys.argv[1:])
