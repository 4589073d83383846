package aggregate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/steptest"
)

// told is a report of a run under a task.
func told(t *testing.T, b *steptest.Bench, r run, task string) cty.Value {
	return steptest.Under(b.Blob(t, r.report(t)), "isolation=container", "runtime=containerd", "task="+task)
}

func boardOf(t *testing.T, values ...cty.Value) func(b *steptest.Bench) (board aggregate.Board, table string) {
	return func(b *steptest.Bench) (board aggregate.Board, table string) {
		t.Helper()
		out, err := b.Run(t, map[string]cty.Value{"reports": cty.ListVal(values)})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
			t.Fatal(err)
		}
		table = b.Files(t, out["files"].Ref)["board.txt"]
		return board, table
	}
}

// TestBothForms sees that an agent under two forms of a task is two rows of the
// board and compared with itself.
func TestBothForms(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	var list []cty.Value
	for _, seed := range []string{"0", "1"} {
		list = append(list,
			told(t, b, run{"x", "apples", seed, 0.9, "gold", true}, "reference"), told(t, b, run{"x", "apples", seed, 0.4, "", false}, "obfuscated"),
			told(t, b, run{"x", "pears", seed, 0.9, "gold", true}, "reference"), told(t, b, run{"x", "pears", seed, 0.9, "gold", true}, "obfuscated"),
			told(t, b, run{"y", "apples", seed, 0.9, "", false}, "reference"))
	}
	board, table := boardOf(t, list...)(b)
	var names []string
	for _, a := range board.Agents {
		names = append(names, a.Name+": "+a.Overall.Task)
	}
	if got := strings.Join(names, "; "); got != "x (reference): reference; y: reference; x (obfuscated): obfuscated" {
		t.Errorf("agents %s", got)
	}
	if len(board.Comparisons) != 1 || board.Comparisons[0].First != "x (reference)" || board.Comparisons[0].Second != "x (obfuscated)" || board.Comparisons[0].FirstRuns != 4 || board.Comparisons[0].SecondRuns != 4 {
		t.Errorf("comparisons %+v", board.Comparisons)
	}
	if d := board.Comparisons[0].Figures["gold_medal_percentage"]; d.Difference != 50 || *d.P < *d.SmallestP {
		t.Errorf("difference %+v", d)
	}
	for _, want := range []string{"Mixed tasks (obfuscated, reference)", "x (reference) and x (obfuscated), 4 and 4 runs at 2 competitions"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in:\n%s", want, table)
		}
	}
}

// TestMixedTasks sees that a board says when agents, or the runs of one, were
// told different things, and nothing otherwise.
func TestMixedTasks(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	_, table := boardOf(t, told(t, b, run{"x", "apples", "0", 0.9, "", false}, "own"), told(t, b, run{"x", "pears", "0", 0.9, "", false}, "reference"))(b)
	if !strings.Contains(table, "Mixed tasks (own, reference)") || !strings.Contains(table, "mixed: own, reference") {
		t.Errorf("not said:\n%s", table)
	}
	_, table = boardOf(t, told(t, b, run{"x", "apples", "0", 0.9, "", false}, "own"), told(t, b, run{"y", "apples", "0", 0.9, "", false}, "own"))(b)
	if strings.Contains(table, "Mixed") {
		t.Errorf("said of one task:\n%s", table)
	}
}

// TestClasses gives places within a class: the agent with more time has better results
// and stands beside the others.
func TestClasses(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	under := func(agent string, gold bool, time string) cty.Value {
		medal := ""
		if gold {
			medal = "gold"
		}
		return steptest.Under(b.Blob(t, run{agent, "apples", "0", 0.9, medal, gold}.report(t)), "isolation=container", "runtime=containerd", "task=own", "time="+time)
	}
	board, table := boardOf(t, under("slow", true, "36h"), under("quick", false, "12h"), under("best", true, "12h"))(b)
	var got []string
	for _, a := range board.Agents {
		got = append(got, fmt.Sprintf("%s %d %s", a.Name, a.Place, a.Class[strings.Index(a.Class, "time"):strings.Index(a.Class, ", cpus")]))
	}
	if want := "best 1 time 12h; quick 2 time 12h; slow 1 time 36h"; strings.Join(got, "; ") != want {
		t.Errorf("%s; want %s", got, want)
	}
	for _, want := range []string{"A 1    best", "B 1    slow", "Class B: isolation container, task own, time 36h, cpus/", "Mixed conditions (time 12h|36h)"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in:\n%s", want, table)
		}
	}
}

// TestClassesOfAnAgent: attempts of an agent under two budgets are two rows, of which that of
// the other agent's class is compared with it. Only keys of such boards have the classes.
func TestClassesOfAnAgent(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	under := func(r run, conditions ...string) cty.Value {
		return steptest.Under(b.Blob(t, r.report(t)), append([]string{"isolation=container", "runtime=containerd", "task=own"}, conditions...)...)
	}
	gold := func(agent, seed string) run { return run{agent, "apples", seed, 0.9, "gold", true} }
	one := []cty.Value{under(gold("x", "0"), "time=36h"), under(run{"y", "apples", "0", 0.5, "", false}, "time=36h"), under(run{"y", "apples", "1", 0.5, "", false}, "time=36h")}
	args := map[string]cty.Value{"reports": cty.ListVal(append(one, under(run{"x", "apples", "1", 0.1, "", false}, "time=12h"), under(run{"x", "apples", "0", 0.1, "", false}, "time=12h"))), "compare": cty.ListVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")})}
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	var board aggregate.Board
	if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range board.Agents {
		got = append(got, fmt.Sprintf("%s %s %d, %v", a.ClassLetter, a.Name, a.Place, float64(a.Overall.Percentages["any_medal_percentage"].Mean)))
	}
	for _, c := range board.Comparisons {
		got = append(got, c.First+" and "+c.Second, board.Sentence(c))
	}
	if diff := cmp.Diff([]string{
		"A x (time 36h) 1, 100", "A y 2, 0", "B x (time 12h) 1, 0",
		"x (time 36h) and y", "x (time 36h) is better than y at 1 of 1 competition; any medal +100.0 points (no interval, 1 and 2 attempts).",
	}, got); diff != "" {
		t.Error(diff)
	}
	delete(args, "compare")
	if _, ok := b.Key(t, args)["classes"]; !ok {
		t.Error("the classes are not in the key")
	}
	args["reports"] = cty.ListVal(one)
	if _, ok := b.Key(t, args)["classes"]; ok {
		t.Error("the key of a board of one class has changed")
	}
}

// TestForkOnABoard: a fork stands on the board beside its origin, does not count, and is
// named; two attempts that count are refused.
func TestForkOnABoard(t *testing.T) {
	report := func(conditions ...string) grading.Graded {
		r := grading.Graded{Labels: map[string]string{"agent": "x", "seed": "0"}, Report: grading.Report{CompetitionID: "pears"}}
		r.MadeUnder(append(conditions, "time=1h"))
		return r
	}
	b, err := aggregate.BoardOf([]grading.Graded{report(), report("forked=0123@1h")}, catalog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 attempt is not compared: 1 fork."; !slices.Contains(b.Notes(), want) || b.Agents[0].Overall.Seeds != 1 {
		t.Errorf("%d seeds, notes %q, want %q", b.Agents[0].Overall.Seeds, b.Notes(), want)
	}
	if _, err := aggregate.BoardOf([]grading.Graded{report(), report()}, catalog(t), nil); err == nil || !strings.Contains(err.Error(), "two reports for agent") {
		t.Errorf("two reports of one attempt: %v", err)
	}
}

// A board of reports, too, tells the forms of a task apart.
func TestBoardOfBothForms(t *testing.T) {
	var reports []grading.Graded
	for _, task := range []string{"task=own", "task=reference"} {
		r := grading.Graded{Labels: map[string]string{"agent": "x", "seed": "0"}, Report: grading.Report{CompetitionID: "pears"}}
		r.MadeUnder([]string{task})
		reports = append(reports, r)
	}
	if b, err := aggregate.BoardOf(reports, catalog(t), nil); err != nil || len(b.Agents) != 2 {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestBoardOfBudgets: attempts at one competition under other budgets are no further seeds;
// budgets that differ between competitions are.
func TestBoardOfBudgets(t *testing.T) {
	report := func(agent, competition string, conditions ...string) grading.Graded {
		r := grading.Graded{Labels: map[string]string{"agent": agent, "seed": "0"}, Report: grading.Report{CompetitionID: competition}}
		r.MadeUnder(conditions)
		return r
	}
	b, err := aggregate.BoardOf([]grading.Graded{
		report("x", "pears", "time=1h", "gpus=1"), report("x", "pears", "time=2h", "gpus=1"), report("y", "pears", "time=1h"), report("y", "apples", "time=2h"),
	}, catalog(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range b.Agents {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"x (time 1h)", "x (time 2h)", "y"}, names); diff != "" {
		t.Error(diff)
	}
}
