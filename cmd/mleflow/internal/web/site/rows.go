package site

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/results"
)

// runtime is how the attempt was run.
func (r *Row) runtime() string {
	names := strings.Join(conditions.Runtimes(r.Report.Conditions), " ")
	if shown := conditions.Shown(r.Report.Conditions); shown != names {
		names = strings.TrimSpace(names + " · isolation: " + shown)
	}
	return names
}

// limits returns the limits of an attempt in a few words.
func (r *Row) limits() string {
	var parts view.Parts
	if v := r.TimeLimitSeconds; v != nil {
		parts = append(parts, seconds(*v))
	}
	if v := r.CPULimit; v != nil {
		parts = append(parts, count(*v, "CPU")+view.When(conditions.Untrusted(r.Report.Conditions), " "+conditions.NotEnforced))
	}
	if v := r.MemoryLimitBytes; v != nil {
		parts.If(*v > 0, view.Bytes(int64(*v)))
	}
	if v := r.GPULimit; v != nil {
		parts.If(*v > 0, count(*v, "GPU"))
	}
	return append(parts, "network: "+r.Network).Join(" · ")
}

func count(v float64, what string) string {
	return strconv.FormatFloat(v, 'f', -1, 64) + " " + what + view.When(v != 1, "s")
}

// standingText counts the rows by standing.
func standingText(n map[verify.Standing]int) string {
	var parts view.Parts
	for _, s := range []verify.Standing{verify.Recomputed, Matched, verify.Claimed} {
		parts.Count(n[s], standingWords[s])
	}
	return parts.Join(", ")
}

// standingWords are the pages' words for standings.
var standingWords = map[verify.Standing]string{
	verify.Recomputed: "recomputed", Matched: "matched by digest", verify.Claimed: "only claimed", verify.Refused: "refused",
}

// amount writes a sum that may not be known.
func amount(v *float64) string {
	return view.Known(v, "–", func(n float64) string { return view.Count(int64(n)) })
}

// took writes a duration in seconds that may not be known.
func took(v *float64) string { return view.Known(v, "–", seconds) }

func seconds(v float64) string { return view.Duration(view.Seconds(v)) }

// Excluded lists the rows left out of a board because of findings of rules.
type Excluded struct {
	Rules []string `json:"rules"`
	// Rows is the number of rows that do not count for this reason.
	Rows int `json:"rows"`
	// Unchecked is the number of rows that count although not all rules were applied to
	// them.
	Unchecked int `json:"unchecked"`
}

// exclude sets aside the rows in which one of the rules found something.
func (s *Site) exclude(rules []string) {
	if len(rules) == 0 {
		return
	}
	s.Excluded = &Excluded{Rules: rules}
	for _, r := range s.rows {
		if r.Aside != "" {
			continue
		}
		if found := r.Check.Against(rules); len(found) > 0 {
			r.Aside = "left out by rule: " + strings.Join(found, ", ")
			s.Excluded.Rows++
		} else if len(r.Check.Lacks(rules)) > 0 {
			s.Excluded.Unchecked++
		}
	}
}

// checked reports whether rules looked at any of the rows.
func checked(rows []*Row) bool {
	return slices.ContainsFunc(rows, func(r *Row) bool { return r.Check != nil })
}

// foundIn returns the findings of rules in an attempt.
func foundIn(c *results.Check) cell {
	warnings, notes := c.Count(evidence.Warning), c.Count(evidence.Note)
	switch {
	case c == nil:
		return cell{Text: "not checked"}
	case warnings > 0:
		return pill(view.Plural(warnings, "warning")+": "+strings.Join(c.FoundBy(evidence.Warning), ", "), "warn")
	case notes > 0:
		return cell{Text: view.Plural(notes, "note") + ": " + strings.Join(c.FoundBy(evidence.Note), ", ")}
	}
	return cell{Text: "none"}
}

// foundInAll sums up the findings of rules in an agent's attempts.
func foundInAll(rows []*Row) cell {
	warned, looked := 0, 0
	for _, r := range rows {
		looked += board.Count(r.Check != nil)
		warned += board.Count(r.Check.Count(evidence.Warning) > 0)
	}
	switch {
	case looked == 0:
		return cell{Text: "not checked"}
	case warned == 0 && looked == len(rows):
		return cell{Text: "no warnings"}
	}
	text := fmt.Sprintf("warnings in %d of %d", warned, looked) + view.When(looked < len(rows), fmt.Sprintf(", %d not checked", len(rows)-looked))
	return pill(text, view.When(warned > 0, "warn"))
}

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
	t.NotProvable = board.Count(r.Unproven != "")
	return t
}

// triesOf counts the tries of an agent. Of several bundles of a cache, the longest chain
// counts.
func triesOf(rows []*Row) (t Tries) {
	type origin struct{ chain, competition, version, data string }
	begun := map[origin]int{}
	for _, r := range rows {
		t.Published++
		t.NotProvable += board.Count(r.Unproven != "")
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
	text := view.Either(t.Begun == 0, "–", fmt.Sprintf("%d begun, %d published, %d thrown away", t.Begun, t.Published, t.ThrownAway))
	if t.NotProvable > 0 {
		return pill(text+", not provable", "bad")
	}
	return cell{Text: text}
}

func channels(list []bundle.Channel) []string {
	return lists.Of(list, func(c bundle.Channel) string { return c.Text })
}

// outside lists the inputs of an agent's attempts from outside their competitions.
func (a *Agent) outside() cell {
	answers := slices.ContainsFunc(a.rows, func(r *Row) bool {
		return slices.ContainsFunc(r.Outside, func(c bundle.Channel) bool { return c.Answers })
	})
	return pill(cmp.Or(strings.Join(a.Outside, "; "), "–"), view.When(answers, "warn"))
}
