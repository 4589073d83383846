package modeltest

import (
	"encoding/json"
	"strings"
)

// MLAB is an Answer that solves demo-digits for the agent MLAB (MLAgentBench).
// The agent edits a script by describing the edit to a second model, and then
// runs it. The first script has a bug; the second works and is submitted.
func MLAB(a *Ask) Answer {
	prompt := a.Prompt()
	if strings.Contains(prompt, "Given this python script:") {
		return Answer{Text: mlabScript(prompt)}
	}
	return Answer{Text: mlabAction(prompt)}
}

// Instructions for edits. The request for an edit repeats them.
const (
	mlabDraft = "Fit a linear model to the pixels and print its accuracy in a cross-validation."
	mlabFix   = "Take the column digit for the labels, and a support vector machine."
)

func mlabScript(prompt string) string {
	code := aideDraft
	if strings.Contains(prompt, mlabFix) {
		code = aideImproved
	}
	return "```python\n" + strings.ReplaceAll(code, `"input/`, `"data/`) + "```\n"
}

// mlabAction chooses the next action from the last observation.
func mlabAction(prompt string) string {
	_, history, begun := strings.Cut(prompt, "\n\nAssistant:\n")
	seen := history[strings.LastIndex(history, "\nObservation:")+1:]
	switch {
	case !begun:
		return mlabStep("Edit Script (AI)", map[string]string{"script_name": "train.py", "edit_instruction": mlabDraft, "save_name": "train.py"})
	case strings.Contains(seen, "The edited file is saved to"):
		return mlabStep("Execute Script", map[string]string{"script_name": "train.py"})
	case strings.Contains(seen, "KeyError"):
		return mlabStep("Edit Script (AI)", map[string]string{"script_name": "train.py", "edit_instruction": mlabFix, "save_name": "train.py"})
	case strings.Contains(seen, "Validation accuracy:"):
		return mlabStep("Validate Submission", map[string]string{"submission_path": "submission/submission.csv"})
	case strings.Contains(seen, "Submission is valid"):
		return mlabStep("Final Answer", map[string]string{"final_answer": "A support vector machine predicts the digits."})
	}
	return mlabStep("List Files", map[string]string{"dir_path": "."})
}

// mlabStep formats an action as MLAB expects it.
func mlabStep(action string, input map[string]string) string {
	text, _ := json.MarshalIndent(input, "", "    ")
	return "Reflection: I read the last observation.\n" +
		"Research Plan and Status: 1. Write a script. 2. Run it. 3. Validate its submission.\n" +
		"Fact Check: Nothing is guessed.\n" +
		"Thought: I take the next step of the plan.\n" +
		"Action: " + action + "\n" +
		"Action Input: " + string(text) + "\n"
}
