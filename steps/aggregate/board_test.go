package aggregate

import (
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/results"
)

// Numbers come first and by value, whatever order the seeds come in.
func TestCompareSeeds(t *testing.T) {
	want := []string{"-1", "2", "10", "", "1a", "a", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	for range len(got) {
		got = append(got[1:], got[0])
		if sorted := slices.SortedFunc(slices.Values(got), results.CompareSeeds); !slices.Equal(sorted, want) {
			t.Fatalf("%q is sorted to %q, want %q", got, sorted, want)
		}
	}
}

// A view says on how many runs figures rest: below where all agents agree, in columns where
// they do not. The stored text is as it was.
func TestBasis(t *testing.T) {
	agent := func(name string, seeds int, ids ...string) Agent {
		a := Agent{Name: name, Place: 1}
		a.Overall.Seeds, a.Overall.Competitions = seeds, ids
		return a
	}
	for _, c := range []struct {
		agents []Agent
		below  string
		header string
	}{
		{[]Agent{agent("a", 1, "x"), agent("b", 1, "x")}, "over 1 seed at 1 competition;", "place agent any medal"},
		{[]Agent{agent("a", 3, "x", "y"), agent("b", 1, "x", "y")}, "over 1 to 3 seeds at 2 competitions;", "place agent seeds any medal"},
		{[]Agent{agent("a", 3, "x", "y"), agent("b", 3, "x")}, "over 3 seeds at 1 to 2 competitions;", "place agent competitions any medal"},
		{nil, "over seeds;", "place agent any medal"},
	} {
		b := &Board{Agents: c.agents}
		got := strings.Join(strings.Fields(b.Compact("", Layout{Width: 120, Labels: true})), " ")
		if !strings.Contains(got, c.below) || !strings.Contains(got, c.header) {
			t.Errorf("got %s\nwant %q and %q", got, c.header, c.below)
		}
		if stored := b.Compact("", Stored); !strings.Contains(strings.Join(strings.Fields(stored), " "), "standard error over seeds; G/S/B") {
			t.Errorf("stored: %s", stored)
		}
	}
}
