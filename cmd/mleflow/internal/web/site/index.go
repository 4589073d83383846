package site

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// index is the first page.
func (s *Site) index() document { return document{Title: s.Title, Template: "index", Data: s} }

// Count is the number of rows of a standing that count; with "", of all.
func (s *Site) Count(standing string) (count int) {
	for at, n := range s.Standings {
		if standing == "" || standing == string(at) {
			count += n
		}
	}
	return count
}

// order is the index of a finding's kind.
func (f Finding) order() int {
	for i, k := range findingKinds {
		if k.Kind == f.Kind {
			return i
		}
	}
	return len(findingKinds) - 1
}

// Head names what a finding is about.
func (f Finding) Head() string {
	others := len(f.Files) > 0 && !slices.Equal(f.Files, []string{f.About})
	return findingKinds[f.order()].words + " " + f.About + view.When(others, " ("+strings.Join(f.Files, ", ")+")") + "."
}

// AgentNames are the names of the agents on tables, sorted.
func (s *Site) AgentNames() []string {
	return slices.Sorted(maps.Keys(lists.By(s.rows, func(r *Row) string { return r.Agent })))
}

// Name names rows of a setting.
func (s Setting) Name() string {
	name := view.Parts{"Task " + s.Task, "version " + s.Version}
	name.If(s.Unchecked, "public data not checked")
	return name.Join(", ")
}

// Name names the rows of a table.
func (t *Table) Name() string {
	if b := t.Board.Benchmark; b != nil {
		return t.Setting.Name() + ", benchmark " + b.String()
	}
	return t.Setting.Name()
}

// Notes are what the conditions of the table's attempts mean for its figures, and by which
// rule it is ordered.
func (t *Table) Notes() []string {
	return append(conditions.Notes(t.Board.UnderConditions()), t.Board.RuleNotes()...)
}

// ByMedals reports whether medals order the table, as without a benchmark.
func (t *Table) ByMedals() bool { return t.Board.Rule() == nil || t.Board.RuleName() == board.Medals }

// Aside says what is compared with nothing.
func (t *Table) Aside() string { return results.Uncounted(counting(t.rows)).String() }

func conditionsOf(rows []*Row) [][]string {
	return lists.Of(rows, func(r *Row) []string { return r.Report.Conditions })
}

// rate writes a percentage of a group.
func rate(g aggregate.Group, name string) string { return page.Rate(g.Percentages, name, g.Seeds) }

// Ranking is the leaderboard with a line for each agent.
func (t *Table) Ranking() page.Grid {
	share := func(name string) func(*Agent) string {
		return func(a *Agent) string { return rate(a.Overall, name) }
	}
	columns := []page.Column[*Agent]{
		texts("Class", func(a *Agent) string { return letter(a.Agent) }), texts("Place", (*Agent).place), texts("Tie group", func(a *Agent) string { return view.When(a.Group > 0, strconv.Itoa(a.Group)) }), agentColumn,
	}
	if t.Board.Rule() != nil {
		columns = append(columns, texts(">"+t.Board.RuleName()+" (95 %)", func(a *Agent) string { return a.Ruled.Cell() }))
	}
	medals := []page.Column[*Agent]{
		texts(">Any medal %", share(shownFigure)), texts(">95 %, other runs", func(a *Agent) string { return a.Measures[shownFigure].Runs.Text() }),
		texts(">95 %, other competitions", func(a *Agent) string { return a.Measures[shownFigure].Competitions.Text() }),
	}
	for i, at := range t.stops {
		medals = append(medals, texts(">… after "+export.After(at), func(a *Agent) string { return page.Rate(a.Stopped[i].Percentages, shownFigure, a.Overall.Seeds) }))
	}
	if medals = append(medals, texts(">Gold %", share("gold_medal_percentage")), texts(">Above median %", share("above_median_percentage"))); !t.Board.Medalless() {
		columns = append(columns, medals...)
	}
	columns = append(columns, texts(">Valid %", share("valid_submissions_percentage")),
		texts(">Competitions", func(a *Agent) string {
			return fmt.Sprintf("%d of %d", len(a.Competitions), len(t.Board.Competitions()))
		}),
		texts(">Seeds", func(a *Agent) string { return strconv.Itoa(a.Overall.Seeds) }), cells("Tries", func(a *Agent) cell { return a.Tries.cell() }), cells("Checked", (*Agent).checked),
		texts(">Running time (hours)", func(a *Agent) string { return cmp.Or(conditions.Hours(conditionsOf(a.rows)...), "–") }), cells("Isolation", (*Agent).isolation), cells("Given besides the competition", (*Agent).outside))
	if checked(t.rows) {
		columns = append(columns, cells("Rule checks", func(a *Agent) cell { return foundInAll(a.rows) }))
	}
	columns = append(columns, texts("Models", func(a *Agent) string { return cmp.Or(strings.Join(a.Models, " "), "–") }), texts(">Tokens", func(a *Agent) string { return amount(a.Tokens) }),
		texts(">Cost, USD", func(a *Agent) string { return costOf(&a.used) }), texts(">Agent time", func(a *Agent) string { return took(a.Seconds) }))
	return page.NewGrid("Leaderboard", t.Agents, columns...)
}

// agentColumn leads to the page of all rows of an agent.
var agentColumn = links("Agent", func(a *Agent) (string, string) { return a.Name, a.path() })

func (a *Agent) isolation() cell {
	return pill(a.Overall.Isolation, view.When(a.Overall.Untrusted, "bad"))
}

// Groups are the percentages with any medal by complexity.
func (t *Table) Groups() page.Grid {
	columns := []page.Column[*Agent]{agentColumn}
	for i, g := range t.Agents[0].Groups {
		columns = append(columns, texts(">"+g.Name+" ("+view.Plural(len(g.Competitions), "competition")+")", func(a *Agent) string { return rate(a.Groups[i], shownFigure) }))
	}
	return page.NewGrid("Any medal by complexity", t.Agents, columns...)
}

// Differences draws the distances of agents from the head of their tie group.
func (t *Table) Differences() plot {
	var rows []page.Estimate
	for _, a := range t.Agents[1:] {
		rows = addEstimate(rows, a.Name+" − "+a.Head, a.Behind, -1)
	}
	return plot{
		Title: "Difference from the first agent of the tie group", Plot: page.Intervals(rows, "difference in competitions with a medal, percentage points"),
		Note: intervalNote + " Adjusted p decides on tie groups.",
	}
}

const intervalNote = "All runs of both; competitions weigh the same. Intervals are of 95 %, over other runs at these competitions, or over other competitions and runs (marked *) where a competition has a single run. p is of the exact permutation test."

// addEstimate adds the difference of a comparison to draw, with a sign, if there is one.
func addEstimate(rows []page.Estimate, name string, c *board.Comparison, sign float64) []page.Estimate {
	if c == nil {
		return rows
	}
	d, ok := c.Figures[shownFigure]
	if !ok {
		return rows
	}
	e := page.Estimate{Name: name, Value: sign * float64(d.Difference), Note: "p " + board.PText(*d.P)}
	if d.AdjustedP != nil && *d.AdjustedP != *d.P {
		e.Note += ", adjusted " + board.PText(*d.AdjustedP)
	}
	i := d.Runs
	if i == nil {
		i, e.Note = d.Competitions, e.Note+" *"
	}
	if i != nil {
		e.Lower, e.Upper, e.Known = sign*float64(i.Lower), sign*float64(i.Upper), true
		if sign < 0 {
			e.Lower, e.Upper = e.Upper, e.Lower
		}
	}
	return append(rows, e)
}

// costOf writes a cost and what it rests on.
func costOf(u *results.Usage) string {
	if u == nil || u.CostUSD == nil {
		return "–"
	}
	return aggregate.CostText(u)
}

// Costs draws the costs of agents against their results; nil if unknown for all.
func (t *Table) Costs() *plot {
	var dots []page.Dot
	for i, a := range t.Agents {
		if p, ok := a.Overall.Percentages[shownFigure]; ok && a.ListUSD != nil {
			dots = append(dots, page.Dot{Name: a.Name, X: *a.ListUSD, Y: float64(p.Mean), Color: i})
		}
	}
	drawn := page.Scatter(dots, "cost of all attempts, USD by list prices where they are known", "competitions with a medal, %")
	if drawn == "" {
		return nil
	}
	return &plot{Title: "Cost", Plot: drawn}
}

// leak names the collections that have labels of hidden rows, with the evidence of the first.
func (c *competition) leak() cell {
	if len(c.public) == 0 {
		return cell{Text: "–"}
	}
	names := lists.Of(c.public, func(p competitions.PublicLabels) string { return p.Name + " (" + p.Covers + ")" })
	return outside(strings.Join(names, ", "), c.public[0].Reference)
}

// CompetitionGrid lists the competitions with their best results.
func (s *Site) CompetitionGrid() page.Grid {
	return page.NewGrid("Competitions", s.competitions(),
		links("Competition", func(c *competition) (string, string) { return c.title, competitionPath(c.id) }), texts("Identifier", func(c *competition) string { return c.id }),
		texts("Complexity", func(c *competition) string { return cmp.Or(string(s.catalog.Complexity(c.id)), "–") }), texts(">Attempts", func(c *competition) string { return strconv.Itoa(len(c.rows)) }),
		texts("Best score", (*competition).best), texts("By", (*competition).by), cells("Public labels", (*competition).leak))
}

// BundleGrid lists the bundles.
func (s *Site) BundleGrid() page.Grid {
	checked := func(name string, of func(*Bundle) string) page.Column[*Bundle] {
		return texts(name, func(b *Bundle) string {
			if b.Refused != "" {
				return "–"
			}
			return of(b)
		})
	}
	manifest := checked("Manifest, SHA-256", func(b *Bundle) string { return b.Manifest })
	manifest.Class = "mono"
	return page.NewGrid("Bundles", s.Bundles, links("File", func(b *Bundle) (string, string) {
		if b.Refused != "" {
			return b.File, ""
		}
		return b.File, bundlePath(b)
	}), checked("Run", func(b *Bundle) string { return b.Run }), manifest, texts(">Rows", func(b *Bundle) string { return strconv.Itoa(len(b.Rows)) }), cells("Scores", (*Bundle).scores),
		checked("Signed by key", func(b *Bundle) string { return cmp.Or(b.Signer[:min(len(b.Signer), 16)], "–") }), checked("mleflow", func(b *Bundle) string { return b.Mleflow }),
		checked("Started", func(b *Bundle) string { return page.Date(b.Started) }))
}

// scores says how the scores of the bundle were checked.
func (b *Bundle) scores() cell {
	n := map[verify.Standing]int{}
	for _, r := range b.Rows {
		n[r.Verdict.Standing]++
	}
	text := cmp.Or(standingText(n), "none")
	switch {
	case b.OtherVersion:
		return pill("of another version", "warn")
	case b.Refused != "":
		return pill("refused", "bad")
	case n[verify.Refused] > 0:
		return pill(fmt.Sprintf("%d refused", n[verify.Refused]), "bad")
	case n[verify.Claimed] > 0:
		return pill(text, "warn")
	}
	return pill(text, "good")
}

// comparisonText compares an agent with the head of its tie group.
func comparisonText(a *Agent, c *board.Comparison) string {
	d, ok := c.Figures[shownFigure]
	if !ok {
		return ""
	}
	out := fmt.Sprintf("%s percentage points from %s (%s)", points(-float64(d.Difference)), a.Head, aggregate.Basis(*c))
	for _, i := range []struct {
		over string
		*board.Interval
	}{{"other runs", d.Runs}, {"other competitions and runs", d.Competitions}} {
		if i.Interval != nil {
			out += fmt.Sprintf(", 95 %% interval %s to %s over %s", points(-float64(i.Upper)), points(-float64(i.Lower)), i.over)
		}
	}
	return out + fmt.Sprintf(", p %s (at least %s), adjusted for all pairs %s.", board.PText(*d.P), board.PText(*d.SmallestP), board.PText(*d.AdjustedP))
}

// Masked is an agent's result at a version of competitions minus its result at the masked
// version, where known ids are worthless.
type Masked struct {
	Setting        // that of the version
	Agent   string `json:"agent"`
	// Comparison has the version first and the masked one second.
	Comparison *board.Comparison `json:"comparison"`
}

// compareMasked compares the attempts of each agent at a version and its masked one.
func (s *Site) compareMasked() error {
	for _, t := range s.Tables {
		for _, other := range s.Tables {
			if other.Task != t.Task || other.Version != competitions.MaskedVersion(t.Version) || other.Benchmark != t.Benchmark {
				continue
			}
			class := map[string]string{}
			for _, a := range other.Agents {
				class[a.Name] = conditions.Comparable(a.Class)
			}
			for _, a := range t.Agents {
				if class[a.Name] != conditions.Comparable(a.Class) {
					continue // what differs is not owed to ids alone
				}
				plain, _ := t.Board.Graded(a.Name) // both have reports of it
				masked, _ := other.Board.Graded(a.Name)
				c, err := board.Compare(plain, masked, other.Board.Competitions())
				if errors.Is(err, board.ErrNothingShared) {
					continue
				}
				if err != nil {
					return err
				}
				s.Masked = append(s.Masked, Masked{t.Setting, a.Name, &c})
			}
		}
	}
	return nil
}

// MaskedDifferences draws the differences.
func (s *Site) MaskedDifferences() plot {
	var rows []page.Estimate
	for _, m := range s.Masked {
		rows = addEstimate(rows, fmt.Sprintf("%s, %s − %s", m.Agent, m.Version, competitions.MaskedVersion(m.Version)), m.Comparison, 1)
	}
	return plot{Title: "Version less masked version", Plot: page.Intervals(rows, "difference in competitions with a medal, percentage points"), Note: intervalNote}
}
