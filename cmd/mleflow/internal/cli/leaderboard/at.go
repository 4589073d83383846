package leaderboard

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// stoppedBoard is a leaderboard had every attempt been stopped at a time.
type stoppedBoard struct {
	Hours float64 `json:"hours"`
	board.Board
	at time.Duration
}

// CheckStops checks times of early stopping.
func CheckStops(at []time.Duration) error {
	for i, t := range at {
		switch {
		case t <= 0:
			return app.Usagef("--at %s: it takes times such as 1h or 90m", t)
		case slices.Contains(at[:i], t):
			return app.Usagef("--at names %s twice", t)
		}
	}
	return nil
}

func (o *leaderboardOptions) checkAt() error {
	if err := CheckStops(o.at); err != nil {
		return err
	}
	if len(o.at) > 0 && (o.show.table != "figures" || o.show.format != "text" && o.show.format != "json") {
		return app.Usagef("--at is shown with the table of figures, as text or JSON")
	}
	return nil
}

// stopped are the boards of an agent had its attempts been stopped early.
func (o *leaderboardOptions) stopped(s standing, splits []board.SplitIDs) ([]stoppedBoard, error) {
	var out []stoppedBoard
	for _, at := range o.at {
		reports := make([]grading.Graded, len(s.file.Reports))
		for i, g := range s.file.Reports {
			var err error
			if reports[i], err = g.Stopped(at); err != nil {
				return nil, fmt.Errorf("--at: %w", err)
			}
		}
		b, err := board.NewBoard(board.AllFlags(reports), splits, board.Seeds{Count: o.seeds, PadMissing: o.padMissing})
		if err != nil && !o.compares() {
			return nil, err
		}
		out = append(out, stoppedBoard{Hours: at.Hours(), Board: b, at: at})
	}
	return out, nil
}

// renderStopped writes a table a split: a row a time, and one for the end.
func renderStopped(term *app.Terminal, out *bytes.Buffer, r leaderboardResult) error {
	if len(r.stopped) == 0 {
		return nil
	}
	names := []string{"any_medal_percentage", "gold_medal_percentage", "silver_medal_percentage", "bronze_medal_percentage", "above_median_percentage", "valid_submissions_percentage"}
	header := []string{"Stopped after"}
	for _, name := range names {
		header = append(header, ">"+strings.TrimSuffix(name, "_percentage"))
	}
	for _, split := range r.splits {
		if _, ok := r.agents[0].board.Splits[split.Name]; !ok {
			continue
		}
		t := view.NewTable(header...)
		t.Fit(1, app.BoardWidth(term))
		row := func(what string, figures board.Split) {
			cells := []string{what}
			for _, name := range names {
				cells = append(cells, fmt.Sprintf("%.2f ± %.2f", float64(figures[name].Mean), float64(figures[name].SEM)))
			}
			t.Row(cells...)
		}
		for _, s := range r.stopped {
			row(view.Duration(s.at), s.Splits[split.Name])
		}
		row("the end", r.agents[0].board.Splits[split.Name])
		fmt.Fprintf(out, "\n%s\n\n", term.OutStyle().Bold(split.Name))
		if err := t.Write(out, term.OutStyle()); err != nil {
			return err
		}
	}
	out.WriteString("\n")
	return nil
}
