package results

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Group is the attempts of one program of an agent in one class.
type Group struct {
	Agent, Program string
	// Newest reports whether the agent's newest run has this program.
	Newest bool
	Class  string
	// Rehearsal means that the attempts cannot win a medal.
	Rehearsal bool
	Attempts  []*Attempt
}

// Groups divides attempts that are distinct and count by agent, program and class: agents in
// natural order, of each the newest program first and the largest class first. It also
// counts the attempts that are left out.
func Groups(list []*Attempt) (groups []*Group, aside Aside) {
	aside = Aside{}
	newest := Newest(list)
	at, classOf := map[[3]string]*Group{}, classing()
	for _, a := range list {
		if why := a.Uncounted(); why != "" {
			aside[why]++
			continue
		}
		key := [3]string{a.Agent, a.Program, classOf(a)}
		g := at[key]
		if g == nil {
			g = &Group{Agent: a.Agent, Program: a.Program, Newest: a.Program == newest[a.Agent], Class: key[2], Rehearsal: conditions.Rehearsed(a.Report.Conditions)}
			at[key], groups = g, append(groups, g)
		}
		g.Attempts = append(g.Attempts, a)
	}
	slices.SortFunc(groups, func(a, b *Group) int {
		return cmp.Or(board.CompareNames(a.Agent, b.Agent), board.Count(b.Newest)-board.Count(a.Newest), strings.Compare(a.Program, b.Program),
			board.Count(a.Rehearsal)-board.Count(b.Rehearsal), len(b.Attempts)-len(a.Attempts), strings.Compare(a.Class, b.Class))
	})
	return groups, aside
}

// Newest returns the program of each agent's newest run with a graded attempt.
func Newest(list []*Attempt) map[string]string {
	graded := lists.Where(list, func(a *Attempt) bool { return a.Graded })
	program := map[string]string{}
	for agent, a := range newestBy(graded, func(a *Attempt) string { return a.Agent }) {
		program[agent] = a.Program
	}
	return program
}

// Tally is the sums of attempts of one class.
type Tally struct {
	Attempts, Competitions, Valid, AboveMedian, Gold, Silver, Bronze int
	// Ranked are the attempts of which medals are a share: those at competitions with a
	// leaderboard that are no rehearsals.
	Ranked int
	// Cost is what they cost; nil if that is not known of any.
	Cost *Cost
}

// TallyOf sums up attempts.
func TallyOf(list []*Attempt) (t Tally) {
	ids := map[string]bool{}
	for _, a := range list {
		r := &a.Report
		ids[r.CompetitionID] = true
		t.Valid, t.AboveMedian = t.Valid+board.Count(r.ValidSubmission), t.AboveMedian+board.Count(r.AboveMedian)
		if a.ranked() {
			t.Ranked++
			t.Gold, t.Silver, t.Bronze = t.Gold+board.Count(r.GoldMedal), t.Silver+board.Count(r.SilverMedal), t.Bronze+board.Count(r.BronzeMedal)
		}
	}
	t.Attempts, t.Competitions, t.Cost = len(list), len(ids), CostOf(list)
	return t
}

// Medals is the number of attempts with a medal.
func (t *Tally) Medals() int { return t.Gold + t.Silver + t.Bronze }

// Share is the percentage of ranked attempts that have a medal; ok is false without any.
func (t *Tally) Share() (percent float64, ok bool) {
	return 100 * float64(t.Medals()) / float64(max(t.Ranked, 1)), t.Ranked > 0
}

// The sources of a cost, the surest first.
const (
	// MeasuredCost: the model gateway settled it by the provider's reports.
	MeasuredCost = "measured"
	// EstimatedCost: the gateway estimated a part, for lack of such a report.
	EstimatedCost = "estimated"
	// ClaimedCost: the agent, or an imported trajectory, says a part of it.
	ClaimedCost = "claimed"
)

// Cost is what attempts cost together, and what a medal cost.
type Cost struct {
	// USD is the sum over the attempts whose cost is known, in US dollars.
	USD float64 `json:"usd"`
	// Attempts are those attempts, Unknown those whose cost is not known.
	Attempts int `json:"attempts"`
	Unknown  int `json:"unknown"`
	Medals   int `json:"medals"`
	// PerMedal is USD for each medal; nil without a medal, or if a cost is not known.
	PerMedal *float64 `json:"usd_per_medal"`
	// Source is the least sure source of a part: measured, estimated or claimed.
	Source string `json:"source"`
}

// CostOf adds up the cost of attempts. It is nil if that of none is known.
func CostOf(list []*Attempt) *Cost {
	c, sure := &Cost{}, []string{MeasuredCost, EstimatedCost, ClaimedCost}
	least := 0
	for _, a := range list {
		c.Medals += board.Count(a.ranked() && Medal(a.Report) != "")
		u := a.Made.Usage
		if u == nil || u.CostUSD == nil {
			c.Unknown++
			continue
		}
		c.USD, c.Attempts = c.USD+*u.CostUSD, c.Attempts+1
		switch {
		case u.Source != grading.FromGateway:
			least = 2
		case u.EstimatedUSD != nil:
			least = max(least, 1)
		}
	}
	if c.Attempts == 0 {
		return nil
	}
	if c.Source = sure[least]; c.Medals > 0 && c.Unknown == 0 {
		each := c.USD / float64(c.Medals)
		c.PerMedal = &each
	}
	return c
}

// MedalChange is positive if the second of two medals is the higher one and negative if it
// is the lower one. Other names than gold, silver and bronze are no medal.
func MedalChange(was, is string) int {
	order := []string{string(grading.Bronze), string(grading.Silver), string(grading.Gold)}
	return slices.Index(order, is) - slices.Index(order, was)
}

// ProgramOf is the digest of an agent's program, from the fields of the key of an attempt:
// all of the agent's but its name, the digest of its image, and the version of an agent that
// mleflow has built in. It has twelve digits, and is "" of a key without an agent.
func ProgramOf(fields map[string]string) string {
	h := sha256.New()
	names := lists.Where(slices.Sorted(maps.Keys(fields)), func(name string) bool {
		return strings.HasPrefix(name, "agent.") && name != "agent.name" || slices.Contains(programFields, name)
	})
	if len(names) == 0 {
		return ""
	}
	for _, name := range names {
		fmt.Fprintf(h, "%d %s %d %s\n", len(name), name, len(fields[name]), fields[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// programFields are the fields of a key that say what an agent is, besides those of its block.
var programFields = []string{"image digest", "built-in agent version", "acp client version"}

// Uncounted counts by reason the attempts that are compared with no other: those without a
// grade, forks, and those whose end is not final.
func Uncounted(list []*Attempt) Aside {
	_, aside := counting(list)
	return aside
}
