package modeltest

import "strings"

// RDAgent is an Answer that solves demo-digits for the agent R&D-Agent. The
// agent's requests differ in the JSON they expect. The answers describe the
// competition, name a challenge, state a hypothesis, sketch and write a
// program, and judge the program's output. The first program has a bug; the
// second works.
func RDAgent(a *Ask) Answer {
	var format struct {
		Schema struct{ Name string } `json:"json_schema"`
	}
	a.get("response_format", &format)
	if reply, ok := rdSchemas[format.Schema.Name]; ok {
		return Answer{Text: string(encode(reply))}
	}
	prompt := a.Prompt()
	for _, form := range rdForms {
		if strings.Contains(prompt, form.asked) {
			return Answer{Text: string(encode(form.reply(prompt)))}
		}
	}
	code := rdDraft
	if strings.Contains(prompt, "# Former code") {
		code = rdMended
	}
	return Answer{Text: "```Python\n" + code + "```\n"}
}

// rdChallenge is the name of the challenge that hypotheses refer to.
const rdChallenge = "Tell the digits apart by their pixels"

// rdSchemas are replies to requests with a JSON Schema, by the name of the
// schema.
var rdSchemas = map[string]any{
	"ScenarioChallenges": object{
		"analysis": object{
			"sota_alignment_analysis": "N/A", "gap_identification": "N/A", "domain_implementation_coherence_check": "N/A",
			"scenario_first_focus": "A model of the pixels.",
		},
		"challenges": list{rdProblem("dataset-driven")},
	},
	"TraceChallenges": object{
		"analysis":   object{"feedback": list{}, "implementation_review": list{}, "trace_history": list{}},
		"challenges": list{rdProblem("Feedback")},
	},
	"HypothesisList": object{
		"deduplicated_challenges": list{rdChallenge},
		"hypotheses": list{object{
			"caption": rdChallenge, "challenge": "Digits look alike.", "hypothesis": "A support vector machine tells them apart.",
			"metric_impact": "More are predicted correctly.", "component": "Model",
			"evaluation": object{
				"alignment": rdScore(), "impact": rdScore(), "novelty": rdScore(), "feasibility": rdScore(), "risk_reward_balance": rdScore(),
			},
		}},
	},
	"CodingSketch": object{
		"current_state": "N/A", "modifications": list{}, "structure": list{"main: everything"},
		"sketch": "### Model\nFit a support vector machine to the pixels.", "packages": list{"scikit-learn"},
	},
}

func rdProblem(category string) object {
	return object{
		"reasoning": "The data are pixels.", "category": category, "statement": "Digits look alike.", "metric_impact": "Accuracy.",
		"caption": rdChallenge,
	}
}

func rdScore() object { return object{"reasoning": "It is plain.", "score": 8} }

// rdForms are replies to requests that describe their JSON in the prompt, by a
// substring of the description.
var rdForms = []struct {
	asked string
	reply func(prompt string) object
}{
	{`"Submission channel number to each sample"`, func(string) object {
		return object{
			"Task Type": "Classification", "Data Type": "Image", "Brief Description": "Recognize digits.", "Dataset Description": "Pixels of digits.",
			"Submission Specifications": "id, digit", "Submission channel number to each sample": 1,
			"Metric Evaluation Description": "The share of digits that are predicted correctly.", "Metric Name": "accuracy", "Metric Direction": true,
			"Longer time limit required": false,
		}
	}},
	{`"final_decision": <true/false>`, func(prompt string) object {
		_, output, _ := strings.Cut(prompt, "## Execution Output")
		return object{
			"execution": output, "return_checking": "As the check says.", "code": "[Code analysis] It is short.",
			"final_decision": strings.Contains(output, "Code ran successfully") && strings.Contains(output, "Submission is valid."),
		}
	}},
	{`"acceptable": <true/false`, func(prompt string) object {
		return object{
			"execution": "It ran.", "return_checking": "The submission is valid.", "code": "It is short.",
			"acceptable":                     strings.Contains(prompt, "The code executed successfully"),
			"hyperparameter_tuning_decision": false, "hyperparameter_tuning_suggestion": "",
		}
	}},
	{`"Evaluation Aligned With Task"`, func(string) object {
		return object{
			"Submission Format Check": "yes", "First Valid Submission": "yes", "Code Change Summary": "A first solution.", "Observations": "It works.",
			"Feedback for Hypothesis": "Confirmed.", "Evaluation Aligned With Task": "yes", "Replace Best Result": "yes", "Acceptable": "yes",
			"Reasoning": "[Experiment Analysis] It is the first valid submission.", "EDA Improvement": "no",
		}
	}},
}

// The model's programs. The first has a bug: it uses a column that does not
// exist.
var rdDraft = strings.ReplaceAll(rdMended, `"digit"]`, `"label"]`)

const rdMended = `import argparse
import time

import pandas as pd
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

parser = argparse.ArgumentParser()
parser.add_argument("--debug", action="store_true")
debug = parser.parse_args().debug

train = pd.read_csv("./workspace_input/train.csv")
test = pd.read_csv("./workspace_input/test.csv")
print("=== Start of EDA part ===")
print(train.shape, test.shape)
print("=== End of EDA part ===")
if debug:
    train = train.sample(frac=0.2, random_state=0)
columns = [c for c in train.columns if c.startswith("pixel_")]
x, y = train[columns], train["digit"]
model = SVC(C=10, gamma=0.001)
begun = time.time()
accuracy = cross_val_score(model, x, y, cv=3).mean()
model.fit(x, y)
seconds = time.time() - begun
if debug:
    print(f"debug_time: {seconds}")
    print(f"estimated_time: {seconds * 10}")
print("Validation accuracy:", accuracy)
pd.DataFrame({"accuracy": [accuracy]}, index=["ensemble"]).to_csv("scores.csv")
pd.DataFrame({"id": test["id"], "digit": model.predict(test[columns])}).to_csv("submission.csv", index=False)
`
