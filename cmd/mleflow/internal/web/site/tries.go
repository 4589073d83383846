package site

import "fmt"

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
	type origin struct{ chain, competition, version, data string }
	begun := map[origin]int{}
	for _, r := range rows {
		if t.Published++; r.Unproven != "" {
			t.NotProvable++
		}
		if r.Tries == nil || r.Bundle.Chain == nil {
			t.Begun++
			continue
		}
		at := origin{r.Bundle.Manifest, r.Report.CompetitionID, r.Report.CompetitionVersion, r.Data}
		if root := r.Bundle.Chain.Root; !root.IsZero() {
			at.chain = root.String()
		}
		begun[at] = max(begun[at], r.Tries.Begun)
	}
	for _, n := range begun {
		t.Begun += n
	}
	t.ThrownAway = max(0, t.Begun-t.Published)
	return t
}

func (t Tries) cell() cell {
	text := fmt.Sprintf("%d begun, %d published, %d thrown away", t.Begun, t.Published, t.ThrownAway)
	if t.Begun == 0 {
		text = "–"
	}
	if t.NotProvable > 0 {
		return pill(text+", not provable", "bad")
	}
	return cell{Text: text}
}
