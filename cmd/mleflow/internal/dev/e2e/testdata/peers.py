"""What a user who cares for speed would write in place of pandas, to be measured against.

    python peers.py taxi|auc|logloss polars|duckdb ...

with the arguments that reference.py takes. Each gives the same files, and the
same scores, as the reference, and checks what the reference checks of ids,
columns and values.
"""

import shutil
import sys
from pathlib import Path

import numpy as np


def folders(out):
    public, private = Path(out) / "public", Path(out) / "private"
    public.mkdir(parents=True)
    private.mkdir(parents=True)
    return public, private


def parts(n, test_size):
    """Row numbers as train_test_split draws them."""
    order = np.random.RandomState(0).permutation(n)
    return order[test_size:], order[:test_size]


def taxi_polars(raw, out):
    import polars as pl

    public, private = folders(out)
    rides = pl.read_csv(Path(raw) / "train.csv")
    rows, test_rows = parts(len(rides), 9914)
    train, test = rides[rows], rides[test_rows]
    train.write_csv(public / "labels.csv")
    test.drop("fare_amount").write_csv(public / "test.csv")
    test.select("key", fare_amount=11.35).write_csv(public / "sample_submission.csv")
    test.write_csv(private / "test.csv")
    shutil.copy(Path(raw) / "GCP-Coupons-Instructions.rtf", public)
    assert not train["key"].is_in(test["key"].implode()).any()


def taxi_duckdb(raw, out):
    import duckdb

    public, private = folders(out)
    db = duckdb.connect()
    source = Path(raw) / "train.csv"
    db.execute(f"create table rides as from read_csv('{source}', types={{'key': 'VARCHAR', 'pickup_datetime': 'VARCHAR'}})")
    n = db.execute("select count(*) from rides").fetchall()[0][0]
    for name, rows in zip(("train", "test"), parts(n, 9914)):
        drawn = {"row": rows, "place": np.arange(len(rows))}
        db.register("drawn", drawn)
        db.execute(f"create table {name} as select rides.* from rides join drawn on rides.rowid = drawn.row order by drawn.place")
    for path, query in (
        (public / "labels.csv", "from train"),
        (public / "test.csv", "select * exclude fare_amount from test"),
        (public / "sample_submission.csv", "select key, 11.35 as fare_amount from test"),
        (private / "test.csv", "from test"),
    ):
        db.execute(f"copy ({query}) to '{path}' (header)")
    shutil.copy(Path(raw) / "GCP-Coupons-Instructions.rtf", public)
    assert db.execute("select count(*) from train semi join test using (key)").fetchall()[0][0] == 0


def auc_polars(submission, answers):
    import polars as pl

    s, a = pl.read_csv(submission), pl.read_csv(answers)
    assert s["has_cactus"].is_between(0, 1).all()
    both = a.join(s, on="id", validate="1:1", suffix="_s")
    assert len(both) == len(s) == len(a)
    positive = both["has_cactus"] == 1
    n, m = positive.sum(), (~positive).sum()
    ranks = both["has_cactus_s"].rank("average").filter(positive).sum()
    return (ranks - n * (n + 1) / 2) / (n * m)


def auc_duckdb(submission, answers):
    import duckdb

    db = duckdb.connect()
    for name, path in (("s", submission), ("a", answers)):
        db.execute(f"create table {name} as from read_csv('{path}')")
    assert db.execute("select bool_and(has_cactus between 0 and 1) from s").fetchall()[0][0]
    db.execute("create table both_sides as select a.has_cactus as y, s.has_cactus as p from a join s using (id)")
    sizes = db.execute("select (select count(*) from both_sides), (select count(distinct id) from s), (select count(*) from a)").fetchall()[0]
    assert len(set(sizes)) == 1
    # The average rank of a value is that of its first row and half of the others'.
    n, m, ranks = db.execute(
        """with counts as (select p, count(*) as rows, sum(y) as ones from both_sides group by p),
           ranked as (select *, sum(rows) over (order by p) - (rows - 1) / 2 as rank from counts)
           select sum(ones), sum(rows - ones), sum(rank * ones) from ranked"""
    ).fetchall()[0]
    return (float(ranks) - float(n) * (float(n) + 1) / 2) / (float(n) * float(m))


def logloss_polars(submission, answers):
    import polars as pl

    s, a = pl.read_csv(submission), pl.read_csv(answers)
    classes = [c for c in a.columns if c != "id"]
    assert all(c in s.columns for c in classes)
    assert s.select(pl.all_horizontal(pl.col(classes).is_between(0, 1).all())).item()
    assert ((s.select(classes).sum_horizontal() - 1).abs() <= 1.1e-5).all()
    rows = a.select("id").with_row_index("a").join(s.select("id").with_row_index("s"), on="id", validate="1:1")
    assert len(rows) == len(s) == len(a)
    # The probability of the class that is 1, a class at a time.
    p, of_answer = np.zeros(len(a)), np.empty(len(a), dtype=np.int64)
    of_answer[rows["a"].to_numpy()] = rows["s"].to_numpy()
    for c in classes:
        at = (a[c] == 1).arg_true().to_numpy()
        p[at] = s[c].to_numpy()[of_answer[at]]
    return -np.log(np.clip(p, np.finfo(float).eps, 1 - np.finfo(float).eps)).mean()


def logloss_duckdb(submission, answers):
    import duckdb

    db = duckdb.connect()
    for name, path in (("s", submission), ("a", answers)):
        db.execute(f"create table {name} as from read_csv('{path}')")
    classes = [r[0] for r in db.execute("describe a").fetchall() if r[0] != "id"]
    terms = " + ".join(f's."{c}"' for c in classes)
    within = " and ".join(f's."{c}" between 0 and 1' for c in classes)
    chosen = "case " + " ".join(f'when a."{c}" = 1 then s."{c}"' for c in classes) + " end"
    eps = np.finfo(float).eps
    n, valid, loss = db.execute(
        f"select count(*), bool_and(abs({terms} - 1) <= 1.1e-5 and {within}), avg(-ln(least(greatest({chosen}, {eps!r}), {1 - eps!r}))) from a join s using (id)"
    ).fetchall()[0]
    sizes = db.execute("select (select count(distinct id) from s), (select count(*) from a)").fetchall()[0]
    assert valid and (n, n) == sizes
    return loss


if __name__ == "__main__":
    result = globals()[f"{sys.argv[1]}_{sys.argv[2]}"](*sys.argv[3:])
    if result is not None:
        print(repr(float(result)))
