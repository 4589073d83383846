package ui

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/step"
)

// relative is an attempt of some run, as far as forks need it.
type relative struct {
	run, address string
	// key are the first digits of its action.
	key string
	// from is the key of the attempt from which it was forked, and at the time; "" if it
	// is no fork.
	from, at string
}

// keyDigits is the length of a key in conditions.Forked.
const keyDigits = 12

func relativeOf(run string, e event.StepFinished) relative {
	k := relative{run: run, address: e.Address, key: e.Action[:min(keyDigits, len(e.Action))]}
	for _, v := range step.ConditionValues(e.Conditions, conditions.Forked) {
		k.from, k.at, _ = strings.Cut(v, "@")
	}
	return k
}

// kin returns the attempts from which another was forked, or that were forked from it, in
// the newest run that has them.
func (x *resultIndex) kin(of relative) (list []relative) {
	x.begin()
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := map[string]bool{of.key: true}
	for _, id := range slices.Backward(sortedKeys(x.tallies)) {
		for _, k := range x.tallies[id].Known {
			if !seen[k.key] && (k.key == of.from || k.from == of.key) {
				seen[k.key] = true
				list = append(list, k)
			}
		}
	}
	return list
}

// kinRow names a fork of the attempt, or the attempt of which it is a fork.
type kinRow struct{ Says, Name, Link, Run, RunLink string }

// self is the attempt of the page.
func (o *one) self() relative {
	if o.step == nil {
		return relative{}
	}
	return relativeOf(o.sum.ID, o.step.Finished())
}

// kinRows begin with the attempt of which this one is a fork.
func (o *one) kinRows() (rows []kinRow) {
	self := o.self()
	if self.key == "" {
		return nil
	}
	origin := kinRow{Says: "Forked after " + self.at + ", so no board counts it, from", Name: self.from}
	for _, k := range o.u.results.kin(self) {
		row := kinRow{Says: "Forked after " + k.at + ":", Name: k.address, Link: stepAddress(k.run, k.address, ""), Run: ledger.Nickname(k.run), RunLink: runAddress(k.run)}
		if k.key == self.from {
			row.Says, origin = origin.Says, row
			origin.Says = row.Says
			continue
		}
		rows = append(rows, row)
	}
	if self.from != "" {
		rows = slices.Insert(rows, 0, origin)
	}
	return rows
}

// maxKin is the number of related attempts whose scores a page draws.
const maxKin = 3

// kinLines are the scores over time of the attempts that share a beginning with this one.
func (o *one) kinLines() (lines []page.Line) {
	self := o.self()
	for _, k := range o.u.results.kin(self) {
		if len(lines) == maxKin {
			break
		}
		line := page.Line{Name: "forked after " + k.at, Color: 4 + len(lines)}
		if k.key == self.from {
			line.Name = "the attempt that was forked"
		}
		if line.Moments = o.u.scores(k); len(line.Moments) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// scores returns an attempt's scores over time, if a step of its run graded it.
func (u *UI) scores(k relative) (moments []page.Moment) {
	past, err := u.Ledger.Open(k.run)
	if err != nil {
		return nil
	}
	for e, err := range past.Finished(conditions.GradeKind) {
		var points []grading.Moment
		if err != nil || keyOf(e.Address) != keyOf(k.address) || !decode(e.Outputs["curve"], &points) {
			continue
		}
		for _, p := range points {
			m := page.Moment{At: time.Duration(p.Seconds) * time.Second, Score: math.NaN()}
			if p.Score != nil {
				m.Score = *p.Score
			}
			moments = append(moments, m)
		}
		return moments
	}
	return nil
}
