package ui

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// What the sides of a comparison are, in their addresses.
const agentPrefix, runPrefix = "agent:", "run:"

// sidesShown is the largest number of sides of a comparison.
const sidesShown = 12

// compareData is the page that compares agents or runs with the first of them.
type compareData struct {
	Sides    []*side
	Choices  [][]choice
	Missing  []string
	Progress progress
	// Intervals are the differences in the figures of leaderboards, the largest first.
	Intervals    template.HTML
	Figures      []figureTable
	Competitions []comparedScores
	// Names are those of the sides, in the order of their colours.
	Names   []string
	Changes changeTable
	Ready   bool
	catalog *competitions.Catalog
}

// side is an agent or a run that is compared.
type side struct {
	Ref, Name, Link, Remove string
	Color                   int
	attempts                []sideAttempt
}

// sideAttempt is a graded attempt with the step that graded it.
type sideAttempt struct {
	grading.Graded
	run, address string
}

func (s *side) graded() []grading.Graded {
	out := make([]grading.Graded, len(s.attempts))
	for i, a := range s.attempts {
		out[i] = a.Graded
	}
	return out
}

// at are the attempts at a competition.
func (s *side) at(id string) []sideAttempt {
	return slices.DeleteFunc(slices.Clone(s.attempts), func(a sideAttempt) bool { return a.CompetitionID != id })
}

// comparePage compares agents or runs: first what differs most, then competition by
// competition, then what was changed.
func (u *UI) comparePage(r *http.Request) (*content, error) {
	all, p := u.results.all()
	d := compareData{Progress: p}
	refs := refsOf(r.URL.Query())
	c := &content{title: "Compare", nav: "Compare", live: !p.Ready, wide: true}
	for _, ref := range refs {
		s := &side{Ref: ref, Remove: compareAddress(slices.DeleteFunc(slices.Clone(refs), func(other string) bool { return other == ref })...)}
		if err := u.open(r.Context(), s, all); err != nil {
			d.Missing = append(d.Missing, err.Error())
		}
		s.Color = len(d.Sides)
		d.Sides = append(d.Sides, s)
	}
	d.Names = u.shortNames(refs)
	for i, s := range d.Sides {
		s.Name = d.Names[i]
	}
	for range max(1, 2-len(refs)) {
		d.Choices = append(d.Choices, sideChoices(all, refs))
	}
	if d.Ready = len(d.Sides) > 1 && len(d.Missing) == 0; d.Ready {
		c.title = "Compare " + strings.Join(d.Names, ", ")
		d.catalog, _ = u.Catalog(nil) // without it the scores of people are not known
		if err := d.compare(); err != nil {
			d.Missing, d.Ready = append(d.Missing, err.Error()), false
		} else {
			u.curves(&d)
			d.Changes = u.changed(r.Context(), d.Sides)
		}
	}
	if err := c.add("form", "compare form", d); err != nil {
		return nil, err
	}
	return c, c.add("compare", "compare", d)
}

// refsOf are the sides that an address names: those of "of", and of "a" and "b".
func refsOf(q url.Values) (refs []string) {
	for _, ref := range slices.Concat(q["a"], q["b"], q["of"]) {
		if ref != "" && !slices.Contains(refs, ref) && len(refs) < sidesShown {
			refs = append(refs, ref)
		}
	}
	return refs
}

func compareAddress(refs ...string) string { return "/compare?" + url.Values{"of": refs}.Encode() }

// sideChoices are the agents and the latest runs that have results and are not compared
// yet.
func sideChoices(all []*result, chosen []string) []choice {
	agents, runs := map[string]bool{}, map[string]bool{}
	for _, res := range all {
		agents[res.Agent], runs[res.Run] = true, true
	}
	out := []choice{{"", "choose one", true}}
	add := func(ref, text string) {
		if !slices.Contains(chosen, ref) {
			out = append(out, choice{Value: ref, Text: text})
		}
	}
	for _, name := range sortedKeys(agents) {
		add(agentPrefix+name, "agent "+name)
	}
	ids := slices.Sorted(maps.Keys(runs))
	slices.Reverse(ids)
	for _, id := range ids[:min(len(ids), 200)] {
		add(runPrefix+id, "run "+id)
	}
	return out
}

// shortNames are the names of sides: agents of one run go without it.
func (u *UI) shortNames(refs []string) (names []string) {
	runs := map[string]bool{}
	for _, ref := range refs {
		id, _, _ := strings.Cut(strings.TrimPrefix(ref, runPrefix), "/")
		runs[id] = true
	}
	for _, ref := range refs {
		if name, ok := strings.CutPrefix(ref, agentPrefix); ok {
			names = append(names, name)
			continue
		}
		id, agent, _ := strings.Cut(strings.TrimPrefix(ref, runPrefix), "/")
		name := id
		if e := u.runs.entry(id); e.State != ledger.Unreadable {
			name = cmp.Or(e.Called(id), id)
		}
		switch {
		case agent != "" && len(runs) == 1:
			name = agent
		case agent != "":
			name = agent + " in " + name
		}
		names = append(names, name)
	}
	return names
}

// open finds the graded attempts that count of an agent, or of a run: those of one agent
// in it if the reference has one after a slash.
func (u *UI) open(ctx context.Context, s *side, all []*result) error {
	if err := u.graded(ctx, s, all); err != nil {
		return err
	}
	s.attempts, _ = conditions.Counted(s.attempts, func(a sideAttempt) []string { return a.Conditions })
	if len(s.attempts) == 0 {
		return fmt.Errorf("no attempt of %s counts", s.Ref)
	}
	return nil
}

func (u *UI) graded(ctx context.Context, s *side, all []*result) error {
	if name, ok := strings.CutPrefix(s.Ref, agentPrefix); ok {
		s.Link = agentAddress(name)
		for _, res := range all {
			if res.Agent == name {
				s.attempts = append(s.attempts, sideAttempt{res.Graded, res.Run, res.Address})
			}
		}
		if len(s.attempts) == 0 {
			return fmt.Errorf("no attempt of the agent %s was graded", name)
		}
		return nil
	}
	id, agent, _ := strings.Cut(strings.TrimPrefix(s.Ref, runPrefix), "/")
	past, err := u.Ledger.Find(id)
	if err != nil {
		return err
	}
	s.Link = runAddress(past.Info.ID)
	err = u.Results(past, func(c Results) error { return s.read(ctx, c, past, agent) })
	if err == nil && len(s.attempts) == 0 {
		err = fmt.Errorf("the run %s graded nothing, or its reports are no longer in the cache", id)
	}
	return err
}

func (s *side) read(ctx context.Context, c Results, past *ledger.Past, agent string) error {
	for e, err := range past.Finished(conditions.GradeKind) {
		if err != nil {
			return err
		}
		if g, err := outputs.Read[grading.Graded](ctx, c, e.Outputs["report"]); err == nil && (agent == "" || g.Labels["agent"] == agent) {
			s.attempts = append(s.attempts, sideAttempt{g, past.Info.ID, e.Address})
		}
	}
	return nil
}

// figureTable is how the first side differs from another in the figures of leaderboards.
type figureTable struct {
	First, Second, Basis string
	// Rows are those of the figures that differ, headers first.
	Rows [][]string
	// Equal are the figures that do not differ.
	Equal []string
	// OnlyFirst and OnlySecond are the competitions that the other has no attempt at.
	OnlyFirst, OnlySecond []string
}

// figure is a figure of one comparison.
type figure struct {
	name string
	// second is the side that the first is compared with.
	second *side
	row    []string
	board.Difference
}

// compare fills in the differences of the first side from each of the others: of the
// figures of leaderboards over all competitions that both have, and of the scores at each.
func (d *compareData) compare() error {
	first := d.Sides[0]
	var figures []figure
	for _, s := range d.Sides[1:] {
		c, err := board.Compare(first.graded(), s.graded(), first.common(s))
		if err != nil {
			return fmt.Errorf("%s and %s: %w", first.Name, s.Name, err)
		}
		t, list := figureTableOf(first, s, c)
		t.OnlyFirst, t.OnlySecond = first.without(s), s.without(first)
		d.Figures, figures = append(d.Figures, t), append(figures, list...)
		d.scores(first, s)
	}
	d.Intervals = intervalsOf(figures)
	d.arrange()
	return nil
}

// competitions are those of the attempts, sorted.
func (s *side) competitions() (ids []string) {
	for _, a := range s.attempts {
		ids = append(ids, a.CompetitionID)
	}
	slices.SortFunc(ids, board.CompareNames)
	return slices.Compact(ids)
}

// without are the competitions that the other does not have.
func (s *side) without(other *side) []string {
	ids := other.competitions()
	return slices.DeleteFunc(s.competitions(), func(id string) bool { return slices.Contains(ids, id) })
}

// common are the competitions that both have.
func (s *side) common(other *side) []string {
	ids := other.competitions()
	return slices.DeleteFunc(s.competitions(), func(id string) bool { return !slices.Contains(ids, id) })
}

// figureTableOf arranges a comparison, what differs most first.
func figureTableOf(first, second *side, c board.Comparison) (figureTable, []figure) {
	t := figureTable{First: first.Name, Second: second.Name, Basis: aggregate.Basis(c)}
	rows := firstscreen.Figures(first.Name, second.Name, c)
	t.Rows = rows[:1:1]
	var list []figure
	for _, name := range board.MeasureNames() {
		f, ok := c.Figures[name]
		if !ok {
			continue
		}
		rows = rows[1:]
		if name = figureName(name); f.Difference == 0 {
			t.Equal = append(t.Equal, fmt.Sprintf("%s (%.1f %%)", name, float64(f.First)))
			continue
		}
		rows[0][0] = name
		list = append(list, figure{name, second, rows[0], f})
	}
	sortFigures(list)
	for _, f := range list {
		t.Rows = append(t.Rows, f.row)
	}
	return t, list
}

// sortFigures puts the largest differences first.
func sortFigures(list []figure) {
	slices.SortStableFunc(list, func(a, b figure) int {
		return cmp.Compare(math.Abs(float64(b.Difference.Difference)), math.Abs(float64(a.Difference.Difference)))
	})
}

func figureName(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_percentage"), "_", " ")
}

// intervalsOf draws the figures that differ, the largest difference first.
func intervalsOf(figures []figure) template.HTML {
	sortFigures(figures)
	var plotted []page.Estimate
	for _, f := range figures[:min(len(figures), 40)] {
		value := float64(f.Difference.Difference)
		e := page.Estimate{Name: f.name, Value: value, Note: fmt.Sprintf("%+.1f", value), Color: f.second.Color}
		in := f.Competitions
		if in == nil {
			in = f.Runs
		}
		if in != nil {
			e.Lower, e.Upper, e.Known = float64(in.Lower), float64(in.Upper), true
		}
		plotted = append(plotted, e)
	}
	return page.Intervals(plotted, "difference in percentage points, with 95 % intervals")
}
