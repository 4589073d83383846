package ui

import (
	"cmp"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
)

// identity names an attempt: who tried what, and which time.
type identity struct{ Agent, Competition, Seed string }

// identified reads the key of an attempt as pipelines write it, AGENT/COMPETITION/SEED.
// Another key names the agent alone.
func identified(key string) identity {
	parts := strings.Split(key, "/")
	if len(parts) < 3 {
		return identity{Agent: key}
	}
	n := len(parts)
	return identity{strings.Join(parts[:n-2], "/"), parts[n-2], parts[n-1]}
}

// rest is the name without the agent.
func (i identity) rest() string {
	if i.Competition == "" {
		return ""
	}
	return i.Competition + " · " + cmp.Or(i.Seed, "–")
}

func (i identity) cell(link string) cell {
	return cell{Text: cmp.Or(i.Agent, board.Unlabelled), Sub: i.rest(), Link: link}
}

// graded is the attempt that a grade step of a key graded; nil if its report is not
// read.
func (x *resultIndex) graded(action string) *result {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byKey[action]
}

// identity is the name of a result.
func (r *result) identity() identity { return identity{r.Agent, r.CompetitionID, r.Seed} }

// headline is the head of an attempt's page.
type headline struct{ Name, Outcome, Class, Score, Medal string }

func (o *one) headline() *headline {
	row := attemptRowOf(o.m, o.sum, o.address, o.u.Now())
	if res := o.u.results.graded(actionOf(o.m.sums.Step(o.m.grades[o.address]))); res != nil {
		row.identity = res.identity()
	}
	h := &headline{Name: row.Agent, Score: row.Score, Medal: row.Medal}
	if rest := row.rest(); rest != "" {
		h.Name += " · " + rest
	}
	h.Outcome, h.Class = row.ending()
	return h
}
