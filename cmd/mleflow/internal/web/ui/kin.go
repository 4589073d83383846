package ui

import (
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
)

// kinOf returns those of some attempts from which an attempt was forked, or that were forked
// from it.
func kinOf(a *results.Attempt, all []*results.Attempt) (list []*results.Attempt) {
	key := shortKey(a)
	from, _ := forkedFrom(a)
	if key == "" {
		return nil
	}
	for _, other := range all {
		if of, _ := forkedFrom(other); shortKey(other) != key && shortKey(other) != "" && (shortKey(other) == from || of == key) {
			list = append(list, other)
		}
	}
	return list
}

// kinLinks lead to the attempt of which this one is a fork, and to its forks.
func kinLinks(a *shownAttempt) (links []page.Link) {
	from, at := forkedFrom(a.result)
	origin := page.Link{Text: from + ", which no run here has"}
	for _, other := range a.kin {
		l := page.Link{Text: other.Address + " of " + history.Nickname(other.RunID), Address: stepAddress(other.RunID, other.Address, "")}
		if shortKey(other) == from {
			origin = l
			continue
		}
		_, after := forkedFrom(other)
		l.Text = "Forked after " + after + ": " + l.Text
		links = append(links, l)
	}
	if from != "" {
		origin.Text = "Forked after " + at + ", so no board counts it, from " + origin.Text
		links = append(links, origin)
	}
	return links
}

// maxKin is the number of related attempts whose scores a page draws.
const maxKin = 3

// kinLines are the scores over time of the attempts that share a beginning with this one.
func kinLines(a *shownAttempt) (lines []page.Line) {
	from, _ := forkedFrom(a.result)
	for _, other := range a.kin {
		if len(lines) == maxKin {
			break
		}
		_, after := forkedFrom(other)
		line := page.Line{Name: "forked after " + after, Color: 4 + len(lines)}
		if shortKey(other) == from {
			line.Name = "the attempt that was forked"
		}
		if points := curves(a.History, other)[other]; len(points) > 0 {
			line.Moments = scoreLines(points, 0, nil, false)[1].Moments
			lines = append(lines, line)
		}
	}
	return lines
}

// curves returns the scores over time of attempts, as the journals of their runs have them.
func curves(runs *history.Store, list ...*results.Attempt) map[*results.Attempt][]grading.Moment {
	out, wanted := map[*results.Attempt][]grading.Moment{}, map[string]map[string]*results.Attempt{}
	for _, a := range list {
		if wanted[a.RunID] == nil {
			wanted[a.RunID] = map[string]*results.Attempt{}
		}
		wanted[a.RunID][a.GradeAddress] = a
	}
	for id, of := range wanted {
		past, err := runs.Open(id)
		if err != nil {
			continue // a run that is gone has no curves
		}
		for e, err := range past.Finished(conditions.GradeKind) {
			var points []grading.Moment
			if a := of[e.Address]; err == nil && a != nil && decode(e.Outputs["curve"], &points) {
				out[a] = points
			}
		}
	}
	return out
}

// keyDigits is the length of a key in conditions.Forked.
const keyDigits = 12

// shortKey is the key of the attempt as its forks have it; "" of one without.
func shortKey(a *results.Attempt) string {
	return a.AttemptAction[:min(keyDigits, len(a.AttemptAction))]
}

// forkedFrom returns the short key of the attempt that an attempt began from, and at which
// time; "" if it is no fork.
func forkedFrom(a *results.Attempt) (key, at string) {
	for _, v := range step.ConditionValues(a.Report.Conditions, conditions.Forked) {
		key, at, _ = strings.Cut(v, "@")
	}
	return key, at
}
