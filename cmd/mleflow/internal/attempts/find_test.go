package attempts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/results"
)

// TestFind finds attempts by name, address, block and pattern. What is written out wins.
func TestFind(t *testing.T) {
	named := func(agent, competition, seed, address string) *results.Attempt {
		a := &results.Attempt{Agent: agent, Seed: seed, Address: address}
		a.Report.CompetitionID = competition
		return a
	}
	list := []*results.Attempt{
		named("gpt", "leaf", "0", `step.agent-run.solve["gpt/leaf/0"]`), named("gpt", "leaf", "10", `step.agent-run.solve["gpt/leaf/10"]`),
		named("lab/gpt*", "leaf", "0", `step.agent-run.other["0"]`), named("lab/gpt-5", "leaf", "0", `step.agent-run.other["1"]`),
		named("twin", "leaf", "0", `step.agent-run.twin["a"]`), named("twin", "leaf", "0", `step.agent-run.twin["b"]`),
	}
	for key, want := range map[string]string{
		"gpt/leaf/0": "0", "gpt/*": "0 1", "*/0": "0 2 3 4 5", "*": "0 1 2 3 4 5", "lab/gpt*/leaf/0": "2", "lab/*": "2 3",
		`step.agent-run.solve["gpt/leaf/10"]`: "1", "step.agent-run.solve": "0 1", `step.agent-run.*["0"]`: "2", "twin/leaf/0": "4 5",
		"gpt/leaf/1": "", "": "", "gpt/leaf/[01]": "", ".*": "", "\xff": "", strings.Repeat("*", 1<<16): "0 1 2 3 4 5", strings.Repeat("a*", 1<<16): "",
	} {
		var got []string
		found, err := Find(key, list)
		for i, a := range list {
			for _, f := range found {
				if f == a {
					got = append(got, fmt.Sprint(i))
				}
			}
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%.40q: %v, %v; want %s", key, got, err, want)
		}
	}
	if got := strings.Join(Names(list[3:]), " "); got != `lab/gpt-5/leaf/0 step.agent-run.twin["a"] step.agent-run.twin["b"]` {
		t.Errorf("names: %s", got)
	}
	if _, err := One("twin/*", list); err == nil || !strings.Contains(err.Error(), `write step.agent-run.twin["a"], step.agent-run.twin["b"]`) {
		t.Errorf("two of a name: %v", err)
	}
	if _, err := One("gpt/leaf/1", list); err == nil || !strings.Contains(err.Error(), `Did you mean "gpt/leaf/0"?`) {
		t.Errorf("none of the name: %v", err)
	}
	if one, err := One("second/x/0", list, []*results.Attempt{named("second", "x", "0", "a")}); err != nil || one.Address != "a" {
		t.Errorf("a second list: %v", err)
	}
	if _, err := Find("x", nil); err == nil {
		t.Error("found one of none")
	}
}
