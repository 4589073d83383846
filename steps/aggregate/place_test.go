package aggregate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// agentWith has three runs at each competition; percentages are equal for all.
func agentWith(name string, results ...Result) Agent {
	a := Agent{Name: name, Competitions: results, Overall: Group{Seeds: 3, Percentages: board.Split{"any_medal_percentage": board.Estimate{Mean: 100}}}}
	for i := range a.Competitions {
		a.Competitions[i].Runs, a.Competitions[i].Scored = 3, 3
		a.Overall.Competitions = append(a.Overall.Competitions, results[i].Competition)
	}
	return a
}

func result(gold, silver int, score float64, lower bool) Result {
	return Result{Competition: "apples", Gold: gold, Silver: silver, Bronze: 3 - gold - silver, LowerIsBetter: lower, Score: &board.Estimate{Mean: grading.Number(score)}}
}

// No place is shared by agents of which the table shows different figures.
func TestPlacesAreAsShown(t *testing.T) {
	two := func(gold int) []Result {
		other := result(gold, 0, 0.9, false)
		other.Competition = "pears"
		return []Result{result(1, 1, 0.5, false), other}
	}
	for _, tt := range []struct {
		name   string
		agents []Agent
		want   string
	}{
		{"gold", []Agent{agentWith("a", result(1, 0, 0.9, false)), agentWith("b", result(2, 0, 0.1, false))}, "b 1, a 2"},
		{"silver", []Agent{agentWith("a", result(1, 0, 0.9, false)), agentWith("b", result(1, 1, 0.1, false))}, "b 1, a 2"},
		{"score", []Agent{agentWith("a", result(1, 0, 0.1, false)), agentWith("b", result(1, 0, 0.9, false))}, "b 1, a 2"},
		{"lower score", []Agent{agentWith("a", result(1, 0, 0.9, true)), agentWith("b", result(1, 0, 0.1, true))}, "b 1, a 2"},
		{"equal", []Agent{agentWith("a", result(1, 0, 0.9, false)), agentWith("b", result(1, 0, 0.9, false)), agentWith("c", result(0, 0, 1, false))}, "a 1=, b 1=, c 3"},
		{"several competitions", []Agent{agentWith("a", two(0)...), agentWith("b", two(1)...), agentWith("c", two(1)...)}, "b 1=, c 1=, a 3"},
	} {
		slices.SortStableFunc(tt.agents, compareAgents)
		assignPlaces(tt.agents)
		var got []string
		for _, a := range tt.agents {
			got = append(got, fmt.Sprintf("%s %s", a.Name, a.PlaceText()))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The table is as wide as it may be, whatever the names are.
func TestSummaryFits(t *testing.T) {
	b := &Board{Agents: []Agent{agentWith(strings.Repeat("long-", 20)+"1", result(1, 0, 0.12345, false)), agentWith("short", result(1, 0, 1e6, false))}, Entries: []Entry{{}}}
	for width := 60; width < 250; width++ {
		text := b.Summary(Layout{Width: width})
		if strings.Count(text, "\n") != 2 || !strings.Contains(text, "1/0/2") {
			t.Fatalf("at %d:\n%s", width, text)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d columns at %d:\n%s", n, width, text)
			}
		}
	}
}
