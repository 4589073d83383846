import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

train = pd.read_csv("input/train.csv")
test = pd.read_csv("input/test.csv")


def split_cabin(frame):
    parts = frame["Cabin"].fillna("Z/0/Z").str.split("/", expand=True)
    frame["Deck"] = parts[0].astype("category").cat.codes
    frame["Number"] = parts[1].astype(int)
    frame["Port"] = (parts[2] == "P").astype(int)
    return frame.drop(columns=["Cabin"])


def add_spending(frame):
    spent = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]
    frame[spent] = frame[spent].fillna(0)
    frame["Total"] = frame[spent].sum(axis=1)
    frame["NoSpending"] = (frame["Total"] == 0).astype(int)
    for column in spent:
        frame[column] = np.log1p(frame[column])
    return frame


def group_size(frame):
    group = frame["PassengerId"].str.split("_").str[0]
    frame["Group"] = group.map(group.value_counts())
    frame["Alone"] = (frame["Group"] == 1).astype(int)
    return frame


def features(frame):
    frame = group_size(add_spending(split_cabin(frame.copy())))
    frame["Age"] = frame["Age"].fillna(frame["Age"].median())
    frame["Child"] = (frame["Age"] < 13).astype(int)
    for column in ["HomePlanet", "Destination", "CryoSleep", "VIP"]:
        frame[column] = frame[column].astype("category").cat.codes
    return frame.drop(columns=["PassengerId", "Name"])


target = train.pop("Transported").astype(int)
x, unseen = features(train), features(test)
votes = np.zeros(len(unseen))
for fold, (rows, held) in enumerate(StratifiedKFold(5, shuffle=True, random_state=7).split(x, target)):
    model = GradientBoostingClassifier(n_estimators=300, learning_rate=0.05, max_depth=4)
    model.fit(x.iloc[rows], target.iloc[rows])
    print(fold, model.score(x.iloc[held], target.iloc[held]))
    votes += model.predict_proba(unseen)[:, 1] / 5
pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": votes > 0.5}).to_csv("submission.csv", index=False)
