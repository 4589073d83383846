# My own approach.
import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

tr = pd.read_csv("input/train.csv")
te = pd.read_csv("input/test.csv")


def berth(df):
    p = df["Cabin"].fillna("Z/0/Z").str.split("/", expand=True)
    df["Deck"] = p[0].astype("category").cat.codes
    df["Number"] = p[1].astype(int)
    df["Port"] = (p[2] == "P").astype(int)
    return df.drop(columns=["Cabin"])


def money(df):
    bills = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
    df[bills] = df[bills].fillna(0)
    df["Total"] = df[bills].sum(axis=1)
    df["NoSpending"] = (df["Total"] == 0).astype(int)
    for c in bills:
        df[c] = np.log1p(df[c])
    return df


def party(df):
    g = df["PassengerId"].str.split("_").str[0]
    df["Group"] = g.map(g.value_counts())
    df["Alone"] = (df["Group"] == 1).astype(int)
    return df


def prepare(df):
    df = party(money(berth(df.copy())))
    df["Age"] = df["Age"].fillna(df["Age"].median())
    df["Child"] = (df["Age"] < 13).astype(int)
    for c in ["HomePlanet", "Destination", "CryoSleep", "VIP"]:
        df[c] = df[c].astype("category").cat.codes
    return df.drop(columns=["PassengerId", "Name"])


y = tr.pop("Transported").astype(int)
x, x_test = prepare(tr), prepare(te)
probability = np.zeros(len(x_test))
for k, (idx, valid) in enumerate(StratifiedKFold(5, shuffle=True, random_state=7).split(x, y)):
    clf = GradientBoostingClassifier(n_estimators=300, learning_rate=0.05, max_depth=4)
    clf.fit(x.iloc[idx], y.iloc[idx])
    print(k, clf.score(x.iloc[valid], y.iloc[valid]))
    probability += clf.predict_proba(x_test)[:, 1] / 5
pd.DataFrame({"PassengerId": te["PassengerId"], "Transported": probability > 0.5}).to_csv("submission.csv", index=False)
