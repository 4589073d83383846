package ui

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/steps/grade"
)

// stops are the times of early stopping that a story answers for.
var stops = []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// stopRow shows the score that early stopping would have given.
type stopRow struct {
	After, Score, Medal, Best, Note string
}

// course draws the scores of the snapshots with what the attempt used and did, and fills
// in the scores of early stopping.
func (d *storyData) course(ctx context.Context, a *shownAttempt) {
	var end time.Duration
	if a.stats != nil {
		end = seconds(a.stats.WallSeconds)
	}
	c := page.Course{Curves: page.Curves{People: d.People, Until: end, Marks: stops}, Lanes: lanes(ctx, a)}
	var points []grading.Moment
	switch {
	case a.graded == nil || len(a.graded.Outputs) == 0:
		d.NoCurve = "There is no score over time: no step has graded the attempt yet."
	case !decode(a.graded.Outputs["curve"], &points) || len(points) == 0:
		d.NoCurve = "There is no score over time: the attempt kept no snapshots, or its grade step was not given them. snapshot_every = \"10m\" in the agent-run step keeps them, and snapshots = step.agent-run.NAME[each.key].snapshots in the grade step scores them."
	default:
		c.Lines = append(scoreLines(points, end, a.report, d.LowerIsBetter), kinLines(a)...)
		d.Scored = true
	}
	d.Curve = c.Draw()
	if d.Curve == "" && d.NoCurve == "" {
		d.NoCurve = "None of the " + view.Plural(len(points), "snapshot") + " has a score."
	}
	if a.report != nil {
		d.Spoilt = grade.Spoilt(a.report.Outcome, points)
	}
	d.Stops = stopRows(points, end, a.report, d.LowerIsBetter)
}

// scoreLines are the scores of the snapshots, and the best so far.
func scoreLines(points []grading.Moment, end time.Duration, report *grading.Graded, lower bool) []page.Line {
	raw := page.Line{Name: "score"}
	for _, p := range points {
		m := page.Moment{At: time.Duration(p.Seconds) * time.Second, Score: math.NaN()}
		if p.Score != nil {
			m.Score = *p.Score
		}
		raw.Moments = append(raw.Moments, m)
	}
	best := raw.BestSoFar("best so far", 3, lower)
	if report != nil && report.ExactScore != nil && end > 0 {
		raw.Moments = append(raw.Moments, page.Moment{At: end, Score: float64(*report.ExactScore)})
		if with := raw.BestSoFar("", 0, lower).Moments; len(points) == 0 || with[len(points)].Score != with[len(points)-1].Score {
			best.Moments = append(best.Moments, with[len(points)])
		}
	}
	return []page.Line{best, raw}
}

// stopRows are the scores of early stopping, none if stopping earlier would have made no
// difference.
func stopRows(points []grading.Moment, end time.Duration, report *grading.Graded, lower bool) (rows []stopRow) {
	if len(points) == 0 {
		return nil
	}
	final, differs := stopRowOf(points, max(end, stops[len(stops)-1]), end, report, lower), false
	for _, stop := range stops {
		if end > 0 && end <= stop {
			break
		}
		row := stopRowOf(points, stop, end, report, lower)
		differs = differs || row.Score != final.Score
		rows = append(rows, row)
	}
	if !differs {
		return nil
	}
	return rows
}

// stopRowOf returns the score of stopping at a time: that of the last submission before
// it.
func stopRowOf(points []grading.Moment, stop, end time.Duration, report *grading.Graded, lower bool) stopRow {
	row := stopRow{After: fmt.Sprintf("%d h", int(stop.Hours())), Medal: "none", Score: "none", Best: "none"}
	n := 0 // snapshots until then, which are in the order of time
	for n < len(points) && time.Duration(points[n].Seconds)*time.Second <= stop {
		n++
	}
	if best := scoreLines(points[:n], 0, nil, lower)[0].Moments; n > 0 && !math.IsNaN(best[n-1].Score) {
		row.Best = page.Score(best[n-1].Score)
	}
	switch {
	case end > 0 && end <= stop && report != nil:
		row.Note = "the attempt had ended"
		if report.ExactScore != nil {
			row.Score, row.Medal = page.Score(float64(*report.ExactScore)), report.Report.Best()
		}
	case n == 0:
		row.Note = "there was no submission yet"
	case points[n-1].Score == nil:
		row.Note = "the submission was " + string(points[n-1].Outcome)
	default:
		row.Score, row.Medal = page.Score(*points[n-1].Score), points[n-1].Medal
	}
	return row
}
