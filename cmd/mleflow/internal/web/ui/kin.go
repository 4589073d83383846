package ui

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/addr"
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
	if of.key == "" {
		return nil
	}
	x.begin()
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := map[string]bool{of.key: true}
	for _, id := range slices.Backward(sortedKeys(x.tallies)) {
		for _, k := range x.tallies[id].Known {
			if !seen[k.key] && k.key != "" && (k.key == of.from || k.from == of.key) {
				seen[k.key] = true
				list = append(list, k)
			}
		}
	}
	return list
}

// self is the attempt of the page.
func (o *one) self() relative {
	if o.step == nil {
		return relative{}
	}
	return relativeOf(o.sum.ID, o.step.Finished())
}

// kinLinks lead to the attempt of which this one is a fork, and to its forks.
func (o *one) kinLinks() (links []page.Link) {
	self := o.self()
	origin := page.Link{Text: self.from + ", which no run here has"}
	for _, k := range o.u.results.kin(self) {
		l := page.Link{Text: k.address + " of " + ledger.Nickname(k.run), Address: stepAddress(k.run, k.address, "")}
		if k.key == self.from {
			origin = l
		} else {
			l.Text = "Forked after " + k.at + ": " + l.Text
			links = append(links, l)
		}
	}
	if self.from != "" {
		origin.Text = "Forked after " + self.at + ", so no board counts it, from " + origin.Text
		links = append(links, origin)
	}
	return links
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
func (u *UI) scores(k relative) []page.Moment {
	past, err := u.Ledger.Open(k.run)
	if err != nil {
		return nil
	}
	for e := range past.Finished(conditions.GradeKind) {
		var points []grading.Moment
		if addr.KeyOf(e.Address) == addr.KeyOf(k.address) && decode(e.Outputs["curve"], &points) {
			return scoreLines(points, 0, nil, false)[1].Moments
		}
	}
	return nil
}
