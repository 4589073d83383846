package aggregate

import (
	"fmt"
	"strings"
	"testing"
)

// TestLabels shows the labels in which agents differ, as many as the width has room for,
// and leaves stored texts without.
func TestLabels(t *testing.T) {
	b := &Board{Agents: []Agent{agentWith("k3", result(1, 0, 0.1, false)), agentWith("k27", result(1, 0, 0.2, false))}}
	for _, e := range []struct{ agent, k, seed string }{{"k3", "3", "0"}, {"k3", "3", "1"}, {"k27", "27", "0"}, {"k27", "27", "1"}} {
		b.Entries = append(b.Entries, Entry{Agent: e.agent, Labels: map[string]string{"agent": e.agent, "seed": e.seed, "k": e.k, "fold": e.seed, "set": "low", "wide": strings.Repeat("w", 20) + e.k}})
	}
	b.Entries = append(b.Entries, Entry{Agent: "k3", Labels: map[string]string{"z": "10"}}, Entry{Agent: "k3", Labels: map[string]string{"z": "9"}})
	var got []string
	for _, all := range []bool{false, true} {
		for _, l := range b.Labels(all) {
			got = append(got, fmt.Sprintf("%s: %s %s", l[0], l[1], l[2]))
		}
	}
	want := []string{
		"k: 3 27", "wide: wwwwwwwwwwwwwwwwwwww3 wwwwwwwwwwwwwwwwwwww27", "z: 9, 10 -",
		"fold: 0, 1 0, 1", "k: 3 27", "set: low low", "wide: wwwwwwwwwwwwwwwwwwww3 wwwwwwwwwwwwwwwwwwww27", "z: 9, 10 -",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for width, want := range map[int]string{60: "agent any", 85: "agent k z any", 120: "agent k wide z any"} {
		header, _, _ := strings.Cut(b.Summary(Layout{width, true}), "\n")
		if got := strings.Join(strings.Fields(header), " "); !strings.Contains(got, want) {
			t.Errorf("at %d: %s; want %s", width, got, want)
		}
	}
	for text, want := range map[string]bool{b.Compact("x", Stored): false, b.Text("x", StoredFull): false, b.Text("x", Layout{100, true}): true} {
		if strings.Contains(text, "fold") != want {
			t.Errorf("labels: want %t in\n%s", want, text)
		}
	}
	if got := labelText([]string{"1", "2", "3", "4"}); got != "4 values" {
		t.Error(got)
	}
}
