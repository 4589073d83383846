package history

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/plan"
)

// TestEvaluated finds the attempts of an evaluation that it did not choose.
func TestEvaluated(t *testing.T) {
	action := func(name string) digest.ActionID { return digest.ActionID(digest.Of([]byte(name))) }
	for name, c := range map[string]struct {
		// chain has "run: declares RULE BUDGET", "run: declares" and "run: begins ATTEMPT [WHY]".
		chain string
		want  plan.Declared
	}{
		"declared first":            {"1: declares rule 9, 1: begins a, 1: begins b", plan.Declared{FirstBudget: 9}},
		"continued":                 {"0: declares rule 9, 0: begins a, 1: declares rule 9, 1: begins b", plan.Declared{FirstBudget: 9}},
		"a larger budget":           {"0: declares rule 5, 0: begins a, 1: declares rule 9, 1: begins b", plan.Declared{FirstBudget: 5}},
		"an attempt that was there": {"0: declares, 0: begins a, 1: declares rule 9, 1: begins b", plan.Declared{Outside: 1, FirstBudget: 9}},
		"under another rule":        {"0: declares other 9, 0: begins a, 0: begins b, 1: declares rule 9", plan.Declared{Outside: 2, FirstBudget: 9}},
		"one of several rules": {
			"x: declares rule 9, y: declares third 9, 0: declares other 9, 0: begins a, 0: begins b, 1: declares rule 9", plan.Declared{Outside: 2, FirstBudget: 9}},
		"begun before, again under the rule": {"0: declares, 0: begins a, 1: declares rule 9, 1: begins a forced, 1: begins b", plan.Declared{Outside: 1, FirstBudget: 9}},
		"repeated":                           {"0: declares rule 9, 0: begins a, 0: begins b, 1: declares rule 9, 1: begins a forced", plan.Declared{Repeated: 1, FirstBudget: 9}},
		"of another cache":                   {"1: declares rule 9, 1: begins a", plan.Declared{Unknown: 1, FirstBudget: 9}},
		"no chain":                           {"", plan.Declared{Unknown: 2}},
		"of an older version":                {"1: declares, 1: begins a, 1: begins b", plan.Declared{Outside: 2}},
		"left out":                           {"0: declares rule 9, 0: begins a, 0: begins b, 0: begins c, 1: declares rule 9", plan.Declared{Unused: 1, FirstBudget: 9}},
		"outside of the evaluation":          {"0: declares, 0: begins c, 1: declares rule 9, 1: begins a, 1: begins b", plan.Declared{FirstBudget: 9}},
		"later runs":                         {"1: declares rule 9, 1: begins a, 2: declares, 1: begins b, 2: begins a forced", plan.Declared{FirstBudget: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			var links []Link
			for line := range strings.SplitSeq(c.chain, ", ") {
				run, what, _ := strings.Cut(line, ": ")
				words := append(strings.Fields(what), "", "", "")
				l := Link{Type: Began, Run: run, Action: action(words[1]), Subjects: []string{"at", "agent"}, Why: words[2]}
				switch {
				case words[0] == "declares" && words[1] == "":
					l = Link{Type: Declared, Run: run}
				case words[0] == "declares":
					l = Link{Type: Declared, Run: run, Evaluation: &Rule{words[1], int(words[2][0] - '0')}}
				case words[0] == "":
					continue
				}
				links = append(links, l)
			}
			attempts := []Link{{Action: action("a"), Subjects: []string{"at", "agent"}}, {Action: action("b"), Subjects: []string{"at", "agent"}}}
			if got := Evaluated(links, "1", "rule", attempts); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
