import numpy as np


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
