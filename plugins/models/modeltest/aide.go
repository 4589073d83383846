package modeltest

import (
	"regexp"
	"strconv"
	"strings"
)

// AIDE is an Answer that solves demo-digits for the agent AIDE in three steps:
// the first solution has a bug, the second fixes it, and the third is better. A
// request with a function asks for a review of a solution's output.
func AIDE(a *Ask) Answer {
	if len(a.Tools) > 0 {
		return Answer{Tools: []ToolCall{{Name: a.Tools[0].Name, Arguments: aideReview(a.Prompt())}}}
	}
	return Answer{Text: aideSolution(a.Prompt())}
}

// The model's solutions of demo-digits. The first has a bug: it uses a column
// that does not exist.
const (
	aideDraft = `import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

train = pd.read_csv("input/train.csv")
x, y = train.drop(columns=["id", "label"]), train["label"]
print("Validation accuracy:", cross_val_score(LogisticRegression(max_iter=2000), x, y, cv=3).mean())
`
	aideMended = `import os
import pandas as pd
from sklearn.neighbors import NearestCentroid
from sklearn.model_selection import cross_val_score

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
columns = [c for c in train.columns if c.startswith("pixel_")]
folder = "submission" if os.path.isdir("submission") else "working" # of MLE-bench's AIDE, of AIDE
x, y = train[columns], train["digit"]
model = NearestCentroid()
print("Validation accuracy:", cross_val_score(model, x, y, cv=3).mean())
pd.DataFrame({"id": test["id"], "digit": model.fit(x, y).predict(test[columns])}).to_csv(folder + "/submission.csv", index=False)
`
	aideImproved = `import os
import pandas as pd
from sklearn.svm import SVC
from sklearn.model_selection import cross_val_score

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
columns = [c for c in train.columns if c.startswith("pixel_")]
folder = "submission" if os.path.isdir("submission") else "working" # of MLE-bench's AIDE, of AIDE
x, y = train[columns], train["digit"]
model = SVC(C=10, gamma=0.001)
print("Validation accuracy:", cross_val_score(model, x, y, cv=3).mean())
pd.DataFrame({"id": test["id"], "digit": model.fit(x, y).predict(test[columns])}).to_csv(folder + "/submission.csv", index=False)
`
)

// aideSolution answers AIDE's three requests: a first solution, a fixed one, a
// better one.
func aideSolution(prompt string) string {
	plan, code := "Fit a linear model to the pixels.", aideDraft
	switch {
	case strings.Contains(prompt, "Previous (buggy) implementation"):
		plan, code = "There is no column label; it is called digit. Compare with the mean of each digit.", aideMended
	case strings.Contains(prompt, "Previous solution"):
		plan, code = "Use a support vector machine with a radial kernel instead.", aideImproved
	}
	return plan + "\n\n```python\n" + code + "```\n"
}

var aideAccuracy = regexp.MustCompile(`Validation accuracy: ([0-9.]+)`)

// aideReview reads a solution's output and returns the arguments of the
// function submit_review.
func aideReview(prompt string) map[string]any {
	_, output, _ := strings.Cut(prompt, "Execution output")
	found := aideAccuracy.FindStringSubmatch(output)
	if found == nil || strings.Contains(output, "Traceback") {
		return map[string]any{"is_bug": true, "has_csv_submission": false, "summary": "It failed; read the names of the columns.", "metric": nil, "lower_is_better": false}
	}
	value, _ := strconv.ParseFloat(found[1], 64)
	return map[string]any{"is_bug": false, "has_csv_submission": true, "summary": "It ran.", "metric": value, "lower_is_better": false}
}

// aideAny is a solution of any competition with a sample submission: it opens some of the
// data and submits the sample.
const aideAny = `import glob, os
import pandas as pd

files = sorted(f for f in glob.glob("input/**/*", recursive=True) if os.path.isfile(f))
for name in files[:50]:
    open(name, "rb").read(100)
samples = [os.environ.get("MLEFLOW_SAMPLE", "")] + [f for f in files if "sample" in f.lower() and ".csv" in f]
sample = next(f for f in samples if os.path.isfile(f))
folder = "submission" if os.path.isdir("submission") else "working" # of MLE-bench's AIDE, of AIDE
pd.read_csv(sample, dtype=str, keep_default_na=False).to_csv(folder + "/submission.csv", index=False)
print("Validation accuracy:", 0.5)
`

// AIDEAnyTask answers AIDE with a solution of any competition.
func AIDEAnyTask(a *Ask) Answer {
	if len(a.Tools) > 0 {
		return AIDE(a)
	}
	return Answer{Text: "Submit the sample submission.\n\n```python\n" + aideAny + "```\n"}
}
