package attempts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/history"
)

// TestNames finds agent, competition and seed of attempts that have no report.
func TestNames(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var graded grading.Graded
	graded.CompetitionID, graded.Labels = "mine", map[string]string{"agent": "aide", "seed": "7"}
	for name, tt := range map[string]struct {
		reports map[string]grading.Graded
		address string
		want    [3]string
	}{
		"the shipped form":          {nil, `step.agent-run.solve["dummy/leaf-classification/2"]`, [3]string{"dummy", "leaf-classification", "2"}},
		"another order":             {nil, `step.agent-run.solve["leaf-classification/2"]`, [3]string{"(unlabelled)", "leaf-classification", "2"}},
		"an agent with a slash":     {nil, `step.agent-run.solve["a/b/leaf-classification/2"]`, [3]string{"a/b", "leaf-classification", "2"}},
		"learned from a graded one": {map[string]grading.Graded{`step.grade.s["7/mine/aide"]`: graded}, `step.agent-run.solve["8/mine/dummy"]`, [3]string{"dummy", "mine", "8"}},
		"no key":                    {nil, `step.agent-run.solve`, [3]string{"(unlabelled)", "step.agent-run.solve", ""}},
	} {
		s := Journal{Catalog: catalog, Reports: tt.reports, Step: func(string) *history.StepSummary { return nil }, Pairs: []Pair{{tt.address, "none"}}}
		for address := range tt.reports {
			s.Pairs = append(s.Pairs, Pair{"", address})
		}
		for _, a := range s.List() {
			if a.Address == tt.address {
				if got := [3]string{a.Agent, a.Competition(), a.Seed}; got != tt.want {
					t.Errorf("%s: %q", name, got)
				}
			}
		}
	}
}

// TestPairs pairs by the plan, and by the key of steps without one.
func TestPairs(t *testing.T) {
	kinds := map[string]string{`x["1"]`: "agent-run", `x["2"]`: "agent-run", `y["1"]`: "grade", `y["2"]`: "grade", `z["3"]`: "grade", "p": "prepare"}
	list := []string{"p", `x["1"]`, `x["2"]`, `y["1"]`, `y["2"]`, `z["3"]`}
	planned := map[string]string{`y["1"]`: `x["2"]`, `y["2"]`: `x["1"]`}
	for name, tt := range map[string]struct {
		of   map[string]string
		want []Pair
	}{
		"by the plan": {planned, []Pair{{`x["1"]`, `y["2"]`}, {`x["2"]`, `y["1"]`}, {"", `z["3"]`}}},
		"by key":      {nil, []Pair{{`x["1"]`, `y["1"]`}, {`x["2"]`, `y["2"]`}, {"", `z["3"]`}}},
	} {
		got := PairsOf(list, func(a string) string { return kinds[a] }, func(a string) string { return tt.of[a] })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPlannedNames takes the names that a plan has, those of the grade first.
func TestPlannedNames(t *testing.T) {
	const run, score = `step.agent-run.solve["0"]`, `step.grade.score["0"]`
	for name, tt := range map[string]struct {
		pair  Pair
		names map[string][]string
		want  [3]string
	}{
		"both":                   {Pair{run, score}, map[string][]string{run: {"own", "demo", "0"}, score: {"label", "demo", ""}}, [3]string{"label", "demo", "0"}},
		"not graded":             {Pair{run, ""}, map[string][]string{run: {"own", "demo", "0"}}, [3]string{"own", "demo", "0"}},
		"no label":               {Pair{"", score}, map[string][]string{score: {"", "demo", ""}}, [3]string{"(unlabelled)", "demo", ""}},
		"the grade's are keys":   {Pair{`step.agent-run.solve["a/demo/1"]`, `step.grade.score["a/demo/1"]`}, map[string][]string{`step.agent-run.solve["a/demo/1"]`: {"own", "demo", "1"}}, [3]string{"a", "demo", "1"}},
		"the attempt's are keys": {Pair{`step.agent-run.solve["a/demo/1"]`, `step.grade.score["a/demo/1"]`}, map[string][]string{`step.grade.score["a/demo/1"]`: {"", "demo", ""}}, [3]string{"a", "demo", "1"}},
		"only the seed's label":  {Pair{`step.agent-run.solve["a/demo/1"]`, score}, map[string][]string{score: {"", "demo", "7"}}, [3]string{"a", "demo", "7"}},
	} {
		j := Journal{Pairs: []Pair{tt.pair}, Names: func(a string) []string { return tt.names[a] }, Step: func(string) *history.StepSummary { return nil }}
		a := j.List()[0]
		if got := [3]string{a.Agent, a.Competition(), a.Seed}; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestUnlabelled names attempts whose reports have no labels by the steps that ran them.
func TestUnlabelled(t *testing.T) {
	run, score := `step.agent-run.solve["a/demo/%d"]`, `step.grade.score["a/demo/%d"]`
	j := Journal{Reports: map[string]grading.Graded{}, Step: func(string) *history.StepSummary { return nil }}
	for n := range 3 {
		var g grading.Graded
		g.CompetitionID = "demo"
		j.Reports[fmt.Sprintf(score, n)] = g
		j.Pairs = append(j.Pairs, Pair{fmt.Sprintf(run, n), fmt.Sprintf(score, n)})
	}
	j.Names = func(address string) []string {
		if strings.Contains(address, "score") {
			return []string{"", "demo", ""}
		}
		return nil
	}
	if diff := cmp.Diff([]string{"a/demo/0", "a/demo/1", "a/demo/2"}, Names(j.List())); diff != "" {
		t.Error(diff)
	}
	j.Pairs = []Pair{{"", fmt.Sprintf(score, 0)}}
	if a := j.List()[0]; a.Agent != "(unlabelled)" {
		t.Errorf("a report without an attempt is of %q", a.Agent)
	}
}
