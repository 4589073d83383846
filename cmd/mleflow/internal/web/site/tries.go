package site

import (
	"fmt"

	"github.com/mleflow/mleflow/cache/digest"
)

// Tries counts attempts that were begun, published and thrown away.
type Tries struct {
	Begun      int `json:"begun"`
	Published  int `json:"published"`
	ThrownAway int `json:"thrown_away"`
	// NotProvable are published ones whose tries no chain counts: there may be more.
	NotProvable int `json:"not_provable"`
}

// tried counts the tries of a row's agent at its competition.
func (r *Row) tried() (t Tries) {
	if r.Tries != nil {
		t = Tries{Begun: r.Tries.Begun, Published: r.Tries.Published, ThrownAway: r.Tries.ThrownAway}
	}
	if r.Unproven != "" {
		t.NotProvable++
	}
	return t
}

// triesOf counts the tries of an agent. Of several bundles of a cache, the longest chain
// counts.
func triesOf(rows []*Row) (t Tries) {
	type place struct {
		root                       digest.ContentID
		competition, version, data string
	}
	begun := map[place]int{}
	for _, r := range rows {
		if t.Published++; r.Unproven != "" || r.Tries == nil {
			t.Begun, t.NotProvable = t.Begun+1, t.NotProvable+1
		}
		if r.Tries != nil && r.Bundle.Chain != nil {
			at := place{r.Bundle.Chain.Root, r.Report.CompetitionID, r.Report.CompetitionVersion, r.Data}
			begun[at] = max(begun[at], r.Tries.Begun)
		}
	}
	for _, n := range begun {
		t.Begun += n
	}
	t.ThrownAway = max(0, t.Begun-t.Published)
	return t
}

func (t Tries) entry() entry {
	e := entry{Text: fmt.Sprintf("%d begun, %d published, %d thrown away", t.Begun, t.Published, t.ThrownAway)}
	if t.Begun == 0 {
		e.Text = "–"
	}
	if t.NotProvable > 0 {
		e.Text, e.Pill = e.Text+", not provable", "bad"
	}
	return e
}
