package view

import (
	"fmt"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
)

// Grades reads the reports of grade steps as they end and draws a leaderboard from them.
// A view without it shows no scores.
type Grades struct {
	Read func(event.StepFinished) (grading.Graded, bool)
	// Fetch reads a report that Read did not find and delivers it later, from any
	// goroutine. It may be nil.
	Fetch func(e event.StepFinished, deliver func(grading.Graded))
	// Draw returns a table, header first, of at most the given width. Without it, only
	// the reports of steps that ran are read.
	Draw func(reports []grading.Graded, width int) string

	mu      sync.Mutex // of reports
	reports []grading.Graded
	// last is the step of the last report that Read found; latest is the report.
	last   string
	latest grading.Graded
	// drawn is the table for a number of reports and a width.
	drawn        []string
	count, width int
}

func (g *Grades) add(e event.StepFinished) {
	if g == nil || e.Kind != conditions.GradeKind || g.Draw == nil && e.Status != event.Ran {
		return
	}
	if report, ok := g.Read(e); ok {
		g.deliver(report)
		g.last, g.latest = e.Address, report
	} else if g.Fetch != nil && e.Outputs["report"] != "" {
		g.Fetch(e, g.deliver)
	}
}

func (g *Grades) deliver(report grading.Graded) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reports = append(g.reports, report)
}

// lines returns the leaderboard on at most so many lines; nil if they are too few.
func (g *Grades) lines(all, width, most int, style Style) []string {
	const least = 3 // title, header, one agent
	if g == nil || most < least {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	reports := g.reports
	if len(reports) == 0 {
		return nil
	}
	if g.count != len(reports) || g.width != width {
		g.count, g.width, g.drawn = len(reports), width, strings.Split(g.Draw(reports, width), "\n")
	}
	sets := make([][]string, len(reports))
	for i, r := range reports {
		sets[i] = r.Conditions
	}
	lines := []string{style.Bold("Leaderboard"), style.Dim(g.drawn[0])}
	lines[0] += style.Dim(", " + PartialText(len(reports), all) + ", isolation " + conditions.Shown(sets...))
	rows := g.drawn[1:]
	if len(rows) <= most-2 {
		return append(lines, rows...)
	}
	lines = append(lines, rows[:most-3]...)
	return append(lines, style.Dim(fmt.Sprintf("… and %d more", len(rows)-(most-3))))
}

// PartialText describes how complete a leaderboard is: "partial: 12 of 66 attempts
// graded".
func PartialText(done, all int) string {
	text := fmt.Sprintf("%d of %d attempts graded", done, max(done, all))
	if done < all {
		return "partial: " + text
	}
	return text
}

// ToGrade is the number of grade steps of a run.
func ToGrade(start event.RunStarted) (n int) {
	for _, b := range start.Blocks {
		if strings.HasPrefix(b.Block, "step."+conditions.GradeKind+".") {
			n += b.Steps
		}
	}
	return n
}

// gradeText names the attempt of a grade step and its score.
func (g *Grades) gradeText(e event.StepFinished) string {
	if g == nil || e.Address != g.last {
		return ""
	}
	r := g.latest
	parts := []string{r.CompetitionID}
	if agent := r.Labels["agent"]; agent != "" {
		parts = []string{OneLine(agent), r.CompetitionID}
	}
	if seed := r.Labels["seed"]; seed != "" {
		parts = append(parts, "seed "+OneLine(seed))
	}
	if (&results.Attempt{Report: r.Report}).NoScore() == "" && r.Score != nil {
		parts = append(parts, Score(float64(*r.Score)))
	}
	if medal := results.Medal(r.Report); medal != "" {
		parts = append(parts, medal)
	}
	return ": " + strings.Join(parts, ", ")
}
