"""Makes folds.json: expressions with the verbs that split into folds, and what scikit-learn gives for the same thing, written by
to_csv(index=False)."""
import io
import json
import os
import pathlib
import sys

import pandas as pd
import sklearn
from sklearn import model_selection as ms

RAW = {"a.csv": "id,label,who\n" + "".join(f"{i},{'cat' if i % 3 else 'dog'},{'zoe amy bob eve'.split()[(i * 7) % 11 % 4]}\n" for i in range(23))}
a = pd.read_csv(io.StringIO(RAW["a.csv"]))
CASES = []


def case(expr, want):
    CASES.append({"name": expr, "expr": expr, "want": want.to_csv(index=False)})


def folds(options, cv, **by):
    for part in (0, 1):
        case(f'k_fold(csv("a.csv"), {{ splits = 3, fold = 2{options} }}).{["train", "test"][part]}', a.iloc[list(cv.split(a, **by))[2][part]])


folds("", ms.KFold(3))
folds(", shuffle = true, random_state = 5", ms.KFold(3, shuffle=True, random_state=5))
folds(', stratify = csv("a.csv").label', ms.StratifiedKFold(3), y=a.label)
folds(', shuffle = true, stratify = csv("a.csv").label', ms.StratifiedKFold(3, shuffle=True, random_state=0), y=a.label)
folds(', groups = csv("a.csv").who', ms.GroupKFold(3), groups=a.who)
folds(', stratify = csv("a.csv").label, groups = csv("a.csv").who', ms.StratifiedGroupKFold(3), y=a.label, groups=a.who)
folds(', shuffle = true, random_state = 3, stratify = csv("a.csv").label, groups = csv("a.csv").who', ms.StratifiedGroupKFold(3, shuffle=True, random_state=3),
      y=a.label, groups=a.who)
case('k_fold(csv("a.csv").id, {}).test', a[["id"]].iloc[next(ms.KFold(5).split(a))[1]])
times = list(ms.TimeSeriesSplit().split(a))
case('time_series_split(csv("a.csv"), {}).train', a.iloc[times[4][0]])
case('time_series_split(csv("a.csv"), {}).test', a.iloc[times[4][1]])
times = list(ms.TimeSeriesSplit(3, test_size=2, gap=1, max_train_size=6).split(a))
case('time_series_split(csv("a.csv"), { splits = 3, fold = 1, test_size = 2, gap = 1, max_train_size = 6 }).train', a.iloc[times[1][0]])
drawn = list(ms.ShuffleSplit(3, test_size=0.2, random_state=4).split(a))
case('train_test_split(csv("a.csv"), { test_size = 0.2, random_state = 4, fold = 2 }).test', a.iloc[drawn[2][1]])
drawn = list(ms.StratifiedShuffleSplit(3, test_size=0.2, random_state=4).split(a, a.label))
case('train_test_split(csv("a.csv"), { test_size = 0.2, random_state = 4, fold = 2, stratify = csv("a.csv").label }).test', a.iloc[drawn[2][1]])
# Splits that are put together of verbs; docs/preparation.md has them in a table.
for part in (0, 1):
    rows = next(ms.GroupShuffleSplit(1, test_size=0.2, random_state=0).split(a, groups=a.who))[part]
    case(f'where_in(csv("a.csv"), "who", train_test_split(sort(unique(csv("a.csv").who)), {{ test_size = 0.2, random_state = 0 }}).{["train", "test"][part]})', a.iloc[rows])
rows = list(ms.LeaveOneGroupOut().split(a, groups=a.who))[sorted(set(a.who)).index("eve")]
case('where_not_in(csv("a.csv"), "who", ["eve"])', a.iloc[rows[0]])
case('where_in(csv("a.csv"), "who", ["eve"])', a.iloc[rows[1]])
here = pathlib.Path(__file__).parent
with open(here / "folds.json", "w", encoding="utf-8") as f:
    json.dump({"command": " ".join(["python", *map(os.path.basename, sys.argv)]),
               "versions": {"python": sys.version.split()[0], "pandas": pd.__version__, "scikit-learn": sklearn.__version__}, "raw": RAW, "cases": CASES}, f, indent=1)
    f.write("\n")
