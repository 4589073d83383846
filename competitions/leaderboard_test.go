package competitions_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

// TestFormatLeaderboard writes every leaderboard that ships as it lies, so that
// taking a new one changes no other line.
func TestFormatLeaderboard(t *testing.T) {
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, id := range cat.IDs() {
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if def.Medals.File == "" {
			continue
		}
		files++
		want, err := os.ReadFile("shipped/" + id + "/" + def.Medals.File)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(competitions.FormatLeaderboard(def.Medals.Scores))); diff != "" {
			t.Errorf("%s (-file +written):\n%s", id, diff)
		}
	}
	if files != 82 {
		t.Errorf("%d leaderboard files, want 82", files)
	}
}

func TestCompareBoards(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after []float64
		want          competitions.BoardChange
		changed       bool
	}{
		{"equal", []float64{3, 2, 2, 1}, []float64{3, 2, 2, 1}, competitions.BoardChange{TeamsBefore: 4, Teams: 4}, false},
		{"a team more at the end", []float64{3, 2}, []float64{3, 2, 1}, competitions.BoardChange{TeamsBefore: 2, Teams: 3, Added: 1}, true},
		{"a team fewer in front", []float64{3, 2, 1}, []float64{2, 1}, competitions.BoardChange{TeamsBefore: 3, Teams: 2, Removed: 1, Places: 2, First: 1}, true},
		{"another score", []float64{3, 2, 1}, []float64{3, 2.5, 1}, competitions.BoardChange{TeamsBefore: 3, Teams: 3, Added: 1, Removed: 1, Places: 1, First: 2}, true},
		{"another order", []float64{3, 2, 1, 1.5}, []float64{3, 2, 1.5, 1}, competitions.BoardChange{TeamsBefore: 4, Teams: 4, Places: 2, First: 3}, true},
		{"one of several", []float64{2, 2, 2, 1}, []float64{2, 2, 1, 1}, competitions.BoardChange{TeamsBefore: 4, Teams: 4, Added: 1, Removed: 1, Places: 1, First: 3}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, err := competitions.NewMedals(tt.before)
			if err != nil {
				t.Fatal(err)
			}
			after, err := competitions.NewMedals(tt.after)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Before, tt.want.After = before.Thresholds, after.Thresholds
			got := competitions.CompareBoards(before, after)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Changed() != tt.changed {
				t.Errorf("changed %v", got.Changed())
			}
		})
	}
}

func TestPublished(t *testing.T) {
	for _, tt := range []struct {
		scores    []float64
		threshold float64
		want      string
	}{
		{[]float64{1, 0.9999, 0.99}, 1, "1.0000"},
		{[]float64{0.82815, 0.8223}, 0.8223, "0.82230"},
		{[]float64{42.9, 51.3}, (42.9 + 51.3) / 2, "47.1"},
		{[]float64{0.85, 0.8}, (0.85 + 0.8) / 2, "0.825"},
		{[]float64{4363000, 24402200}, 24402200, "24402200"},
		{[]float64{1, 2}, 1.5, "1.5"},
	} {
		if got := competitions.Published(tt.scores, tt.threshold); got != tt.want {
			t.Errorf("%v of %v is written %s, not %s", tt.threshold, tt.scores, got, tt.want)
		}
	}
}
