import numpy as np
from features import features
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

train = pd.read_csv("input/train.csv")
test = pd.read_csv("input/test.csv")


target = train.pop("Transported").astype(int)
x, unseen = features(train), features(test)
votes = np.zeros(len(unseen))
for fold, (rows, held) in enumerate(StratifiedKFold(5, shuffle=True, random_state=7).split(x, target)):
    model = GradientBoostingClassifier(n_estimators=300, learning_rate=0.05, max_depth=4)
    model.fit(x.iloc[rows], target.iloc[rows])
    print(fold, model.score(x.iloc[held], target.iloc[held]))
    votes += model.predict_proba(unseen)[:, 1] / 5
pd.DataFrame({"PassengerId": test["PassengerId"], "Transported": votes > 0.5}).to_csv("submission.csv", index=False)
