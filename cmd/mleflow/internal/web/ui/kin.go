package ui

import (
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/step"
)

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

// kin returns the attempts from which the attempt of the page was forked, or that were
// forked from it, in the newest run that has them.
func (o *one) kin() (list []*results.Attempt) {
	key := shortKey(o.attempt)
	from, _ := forkedFrom(o.attempt)
	if key == "" {
		return nil
	}
	now, _ := o.u.results.now()
	for _, a := range now.all {
		if other, _ := forkedFrom(a); shortKey(a) != key && shortKey(a) != "" && (shortKey(a) == from || other == key) {
			list = append(list, a)
		}
	}
	return list
}

// kinLinks lead to the attempt of which this one is a fork, and to its forks.
func (o *one) kinLinks() (links []page.Link) {
	from, at := forkedFrom(o.attempt)
	origin := page.Link{Text: from + ", which no run here has"}
	for _, a := range o.kin() {
		l := page.Link{Text: a.Address + " of " + ledger.Nickname(a.RunID), Address: stepAddress(a.RunID, a.Address, "")}
		if shortKey(a) == from {
			origin = l
			continue
		}
		_, after := forkedFrom(a)
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
func (o *one) kinLines() (lines []page.Line) {
	from, _ := forkedFrom(o.attempt)
	for _, a := range o.kin() {
		if len(lines) == maxKin {
			break
		}
		_, after := forkedFrom(a)
		line := page.Line{Name: "forked after " + after, Color: 4 + len(lines)}
		if shortKey(a) == from {
			line.Name = "the attempt that was forked"
		}
		if points := o.u.curves(a)[a]; len(points) > 0 {
			line.Moments = scoreLines(points, 0, nil, false)[1].Moments
			lines = append(lines, line)
		}
	}
	return lines
}

// curves returns the scores over time of attempts, as the journals of their runs have them.
func (u *UI) curves(list ...*results.Attempt) map[*results.Attempt][]grading.Moment {
	out, wanted := map[*results.Attempt][]grading.Moment{}, map[string]map[string]*results.Attempt{}
	for _, a := range list {
		if wanted[a.RunID] == nil {
			wanted[a.RunID] = map[string]*results.Attempt{}
		}
		wanted[a.RunID][a.GradeAddress] = a
	}
	for id, of := range wanted {
		past, err := u.Ledger.Open(id)
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
