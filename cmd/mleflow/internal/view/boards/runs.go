package boards

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Runs shows every run with how far it is from the next medal.
func (l Layout) Runs(out *bytes.Buffer, r Result) error {
	columns := []string{"Agent", "Competition", "Seed", "Isolation", "Task", ">Score", "Medal", ">Place", ">To gold", ">To silver", ">To bronze"}
	runs := r.runs()
	used := slices.ContainsFunc(runs, func(run export.Run) bool { return run.Attempt.Usage != nil })
	if used {
		columns = append(columns, ">Tokens", ">Cost (USD)")
	}
	t := view.NewTable(columns...)
	t.Fit(2, l.Width)
	for _, run := range runs {
		score, place := cmp.Or(export.Unscored(run.Report, run.Attempt), "-"), "-"
		if s := run.Report.Score; s != nil && !math.IsNaN(float64(*s)) {
			score = view.Score(float64(*s))
		}
		if run.Report.Rank != nil && score != export.NaN {
			place = export.Place(*run.Report.Rank, run.Report.Teams)
		}
		row := []string{view.Text(run.Agent), run.Report.CompetitionID, view.Text(run.Seed), conditions.Shown(run.Report.Conditions), conditions.Told(run.Report.Conditions), score, export.Medal(run.Report), place}
		for _, name := range []grading.Threshold{grading.Gold, grading.Silver, grading.Bronze} {
			row = append(row, marginText(run.Margins, name))
		}
		if used {
			row = append(row, aggregate.TokensText(run.Attempt.Usage), aggregate.CostText(run.Attempt.Usage))
		}
		t.Row(row...)
	}
	return t.Write(out, l.Style)
}

// marginText is what is missing to a threshold, or that it is reached.
func marginText(margins map[grading.Threshold]grading.Margin, name grading.Threshold) string {
	m, ok := margins[name]
	switch {
	case !ok:
		return "-"
	case m.Score >= 0:
		return "reached"
	case m.Places == nil:
		return fmt.Sprintf("%.5f", -float64(m.Score))
	}
	return fmt.Sprintf("%.5f, %d up", -float64(m.Score), -*m.Places)
}
