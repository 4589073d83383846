package aggregate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// boardOf is the board of entries at one competition.
func boardOf(t *testing.T, entries ...Entry) *Board {
	t.Helper()
	SortEntries(entries)
	b, err := NewBoard(entries, Grouping{By: byNothing, Of: func(string) string { return "all" }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// entryUnder is an entry of a seed without a score, made under conditions.
func entryUnder(agent, seed string, conditions ...string) Entry {
	r := grading.Report{CompetitionID: "apples", SubmissionExists: true}
	r.Outcome, r.Conditions = outcome.Invalid, conditions
	return Entry{Agent: agent, Seed: seed, Report: r}
}

// TestForkHasNoClass: a fork does not count, so the agent stays in the class of its others.
func TestForkHasNoClass(t *testing.T) {
	set := []string{"isolation=sandbox", "task=own"}
	b := boardOf(t, entryUnder("a", "0", set...), entryUnder("b", "0", set...), entryUnder("b", "1", append(set, "forked=abc")...))
	if x, y := b.Agents[0].Class, b.Agents[1].Class; x != y {
		t.Errorf("the classes are %q and %q", x, y)
	}
	alone := boardOf(t, entryUnder("b", "1", append(set, "forked=abc")...))
	if class := alone.Agents[0].Class; !strings.Contains(class, "forked abc") {
		t.Errorf("the class of an agent of forks alone is %q", class)
	}
}

// TestClassText says of a condition how many attempts have it: of an agent in its class, of
// all agents in the board's text. The numbers keep no agents apart.
func TestClassText(t *testing.T) {
	set := []string{"isolation=sandbox", "task=own"}
	longer := append(set[:2:2], "steered=time+20m")
	b := boardOf(t, entryUnder("a", "0", set...), entryUnder("a", "1", longer...), entryUnder("a", "2", set...),
		entryUnder("b", "0", longer...), entryUnder("b", "1", longer...), entryUnder("c", "0", set...), entryUnder("c", "1", append(longer, "forked=abc")...))
	classes := b.Classes()
	if len(classes) != 2 || len(classes[0]) != 2 {
		t.Fatalf("%+v", classes)
	}
	for name, want := range map[string]string{"a": "1 of 3: time+20m by hand", "b": "recorded, time+20m by hand", "c": "recorded"} {
		for _, a := range b.Agents {
			if a.Name == name && !strings.HasSuffix(a.Class, want) {
				t.Errorf("the class of %s is %q", name, a.Class)
			}
		}
	}
	text := strings.Join(strings.Fields(b.Text("Board", Layout{Width: 1000})), " ")
	for _, want := range []string{"3 of 5: time+20m by hand. Class B: isolation sandbox", "feedback/knowledge not recorded. agent"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestSameFigures compares a board with one that an earlier version wrote in other words,
// and with forgeries.
func TestSameFigures(t *testing.T) {
	here := func() *Board {
		return boardOf(t, entryUnder("a", "0", "isolation=sandbox"), entryUnder("b", "0", "isolation=host-files"))
	}
	for name, tt := range map[string]struct {
		change func(*Board)
		want   bool
	}{
		"nothing": {func(*Board) {}, true},
		"classes": {func(b *Board) {
			b.Agents[1].Class, b.Agents[1].ClassLetter, b.Agents[1].Place = "isolation host-files", "B", 1
		}, true},
		"order":   {func(b *Board) { b.Agents[0], b.Agents[1] = b.Agents[1], b.Agents[0] }, true},
		"words":   {func(b *Board) { b.Agents[0].Competitions[0].Unscored = map[string]int{"invalid": 1} }, true},
		"counts":  {func(b *Board) { b.Agents[0].Competitions[0].Unscored = map[string]int{"invalid": 2} }, false},
		"medals":  {func(b *Board) { b.Agents[0].Competitions[0].Gold = 1 }, false},
		"reports": {func(b *Board) { b.Entries[0].Report.GoldMedal = true }, false},
		"percent": {func(b *Board) { delete(b.Agents[0].Overall.Percentages, "any_medal_percentage") }, false},
		"name":    {func(b *Board) { b.Agents[0].Name = "c" }, false},
	} {
		other := here()
		tt.change(other)
		before, _ := json.Marshal(other)
		got, err := SameFigures(here(), other)
		if after, _ := json.Marshal(other); err != nil || got != tt.want || string(before) != string(after) {
			t.Errorf("%s: %v, %v, changed %v", name, got, err, string(before) != string(after))
		}
	}
}
