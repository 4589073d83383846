package site

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// competition is one that rows are of.
type competition struct {
	id, title string
	rows      []*Row
	people    page.People
	note      string
	public    []competitions.PublicLabels
}

// competitions returns the competitions of all rows, sorted.
func (s *Site) competitions() []*competition {
	by := lists.By(s.rows, (*Row).Competition)
	var list []*competition
	for _, id := range slices.Sorted(maps.Keys(by)) {
		c := s.competition(by[id])
		slices.SortStableFunc(c.rows, func(x, y *Row) int {
			return cmp.Or(cmp.Compare(x.Agent, y.Agent), results.CompareSeeds(x.Seed, y.Seed), cmp.Compare(x.RunID, y.RunID), cmp.Compare(x.GradeAddress, y.GradeAddress))
		})
		list = append(list, c)
	}
	return list
}

func (s *Site) competition(rows []*Row) *competition {
	rep := rows[0].Report
	c := &competition{id: rep.CompetitionID, title: rep.CompetitionID, rows: rows, people: page.PeopleOf(rep)}
	if def, err := s.catalog.Get(c.id); err == nil {
		c.title, c.people.Human, c.note, c.public = def.Title, def.Medals.Scores, def.Medals.Note, def.PublicLabels
	}
	return c
}

// top is the best attempt of the class with the most rows; nil if none has a score that
// counts.
func (c *competition) top() *results.Attempt {
	counted := counting(c.rows)
	_, class, _ := results.Selection{Programs: true}.Comparable(counted)
	return results.Best(slices.DeleteFunc(counted, func(a *results.Attempt) bool { return a.NoScore() != "" || a.Class() != class }))
}

func (c *competition) best() string {
	if a := c.top(); a != nil {
		return page.Score(float64(*a.Report.ExactScore))
	}
	return "–"
}

func (c *competition) by() string {
	if a := c.top(); a != nil {
		return a.Agent
	}
	return "–"
}

// results is a table of rows; up is the path to the folder of the board.
func (s *Site) results(caption, up string, rows []*Row, agents, competitions bool) page.Grid {
	var columns []page.Column[*Row]
	if agents {
		columns = append(columns, links("Agent", func(r *Row) (string, string) { return r.Agent, up + agentPath(r.Agent) }))
	}
	if competitions {
		columns = append(columns, links("Competition", func(r *Row) (string, string) {
			return r.Report.CompetitionID, up + competitionPath(r.Report.CompetitionID)
		}))
	}
	columns = append(columns, texts("Seed", func(r *Row) string { return cmp.Or(r.Seed, "–") }), texts(">Score", (*Row).score))
	for _, at := range s.stops {
		columns = append(columns, texts(">… after "+export.After(at), func(r *Row) string { return r.scoreAt(at) }))
	}
	columns = append(columns,
		cells("Medal", func(r *Row) cell { return cell{Text: results.Medal(r.shown()), Medal: true} }),
		page.Column[*Row]{Title: "Place", Class: "nowrap", Text: func(r *Row) string { return r.place() }},
		texts(">Percentile", (*Row).percentile), cells("Checked", (*Row).checked), texts("Ended", func(r *Row) string { return cmp.Or(string(r.Made.Outcome), "–") }),
		texts(">Time", func(r *Row) string { return took(r.Made.WallSeconds) }), texts(">Tokens", func(r *Row) string { return amount(r.Made.Usage.Tokens()) }),
		texts(">Cost, USD", func(r *Row) string { return costOf(r.Made.Usage) }), cells("Tries", func(r *Row) cell { return r.tried().cell() }))
	columns = append(columns, cells("Integrity", func(r *Row) cell { return page.Integrity(r.Attempt) }))
	if checked(rows) {
		columns = append(columns, cells("Rule checks", func(r *Row) cell { return foundIn(r.Check) }))
	}
	columns = append(columns, links("Bundle", func(r *Row) (string, string) { return r.Bundle.File, up + bundlePath(r.Bundle) }),
		page.Column[*Row]{Title: "Remarks", Class: "why", Text: func(r *Row) string { return strings.Join(r.remarks(), "; ") }})
	return page.NewGrid(caption, rows, columns...)
}

// scoreAt is the score had the attempt been stopped at a time, with its medal.
func (r *Row) scoreAt(at time.Duration) string {
	s := r.Stopped(at)
	switch {
	case s == nil || r.Verdict.Standing == verify.Refused:
		return "–"
	case s.ExactScore == nil:
		return strings.ReplaceAll(string(s.Outcome), "_", " ")
	case results.Medal(*s) != "":
		return page.Score(float64(*s.ExactScore)) + " " + results.Medal(*s)
	}
	return page.Score(float64(*s.ExactScore))
}

// shown is the report of the row; an empty one if it is refused.
func (r *Row) shown() grading.Report {
	if r.Verdict.Standing == verify.Refused {
		return grading.Report{}
	}
	return r.Report
}

func (r *Row) score() string {
	if r.Verdict.Standing == verify.Refused {
		return "–"
	}
	if score := r.Report.ExactScore; score != nil {
		return page.Score(float64(*score))
	}
	return cmp.Or(r.NoScore(), "–")
}

func (r *Row) place() string {
	rep := r.shown()
	if results.Percentile(rep) == nil {
		return "–"
	}
	return results.Place(*rep.Rank, rep.Teams)
}

func (r *Row) percentile() string {
	return view.Known(results.Percentile(r.shown()), "–", func(p float64) string { return strconv.FormatFloat(p, 'f', 1, 64) })
}

// checked says how the row was checked.
func (r *Row) checked() cell {
	class := map[verify.Standing]string{verify.Claimed: "warn", verify.Refused: "bad"}[r.Verdict.Standing]
	return pill(standingWords[r.Verdict.Standing], cmp.Or(class, "good"))
}

// remarks are what a reader must know of the row.
func (r *Row) remarks() []string {
	list := view.Parts(slices.Clone(r.Verdict.Flags))
	list.If(r.Verdict.Unchecked != "" && r.Verdict.Standing != verify.Refused, "public data: not checked: "+r.Verdict.Unchecked)
	list.If(r.Unproven != "", "tries not provable: "+r.Unproven)
	list.If(r.Verdict.Others > 0, view.Plural(r.Verdict.Others, "other attempt")+" in its place or of the same agent before it")
	list.If(r.Aside != "", "Does not count: "+r.Aside)
	list.If(r.Aside == "" && r.Verdict.Standing == verify.Claimed, "no answers, or not all files, to grade it again with")
	return append(list, channels(r.Outside)...)
}

// maxLines is the largest number of curves in a plot.
const maxLines = 16

// curves draws score over time; the plot is empty without snapshots.
func curves(title string, people page.People, rows []*Row, name func(*Row) string) plot {
	c := page.Curves{People: people}
	p := plot{Title: title, Note: "Points are graded snapshots; the line is the best so far."}
	left := 0
	for _, r := range rows {
		if len(r.Snapshots) == 0 || r.Aside != "" {
			continue
		}
		if len(p.Names) == maxLines {
			left++
			continue
		}
		p.Names = append(p.Names, name(r))
		points := page.Line{Name: name(r), Color: len(c.Lines) / 2}
		for _, s := range r.Snapshots {
			if s.Score != nil {
				points.Moments = append(points.Moments, page.Moment{At: time.Duration(s.Seconds) * time.Second, Score: *s.Score})
			}
		}
		c.Lines = append(c.Lines, points, points.BestSoFar(name(r)+", best so far", points.Color, people.LowerIsBetter))
	}
	if left > 0 {
		p.Note += " " + view.Plural(left, "more attempt") + " not drawn."
	}
	p.Plot = c.Draw()
	return p
}

// competitionPage shows all rows at a competition.
func (s *Site) competitionPage(c *competition) document {
	d := document{Title: c.title, Version: s.Version, Lead: []string{c.id}}
	by := lists.By(c.rows, func(r *Row) Setting {
		s := r.setting()
		s.Benchmark = "" // at one competition there is nothing to add up
		return s
	})
	for _, at := range slices.SortedFunc(maps.Keys(by), compareSettings) {
		rows := by[at]
		sec := section{Title: at.Name(), Grids: []page.Grid{s.results("Attempts", "../", rows, true, false)}}
		sec.Text.If(c.note != "", c.note)
		if p := page.Distribution(c.people, scores(rows)); p.Plot != "" {
			sec.Plots = append(sec.Plots, plot{Title: "Scores against those of people", Plot: p.Plot, People: &p})
		}
		if p := curves("Score over time", c.people, rows, func(r *Row) string { return r.Agent + ", seed " + r.Seed }); p.Plot != "" {
			sec.Plots = append(sec.Plots, p)
		}
		d.Sections = append(d.Sections, sec)
	}
	if len(c.public) > 0 {
		g := page.NewGrid("Public labels", c.public,
			cells("Collection", func(p competitions.PublicLabels) cell { return outside(p.Name, p.URL) }), texts("It has", competitions.PublicLabels.Extent),
			texts("What is the same", func(p competitions.PublicLabels) string { return p.Note }), cells("Evidence", func(p competitions.PublicLabels) cell { return outside(p.Reference, p.Reference) }))
		d.Sections = append(d.Sections, section{Title: "Where its labels are public", Grids: []page.Grid{g}})
	}
	return d
}

// scores returns the scores of the rows that count, by agent.
func scores(rows []*Row) (list []page.Row) {
	for _, r := range rows {
		if r.Aside == "" && r.Report.ExactScore != nil {
			list = page.AddScores(list, r.Agent, float64(*r.Report.ExactScore))
		}
	}
	return list
}

// found are the findings on a subject.
func (s *Site) found(on func(Finding) bool) []Finding {
	return slices.DeleteFunc(slices.Clone(s.Findings), func(f Finding) bool { return !on(f) })
}

// agentPage shows all rows of an agent, whether they count or not.
func (s *Site) agentPage(name string) document {
	d := document{Title: name, Version: s.Version, Findings: s.found(func(f Finding) bool { return f.About == name })}
	aside := slices.DeleteFunc(slices.Clone(s.rows), func(r *Row) bool { return r.Agent != name || r.Aside == "" })
	for _, t := range s.Tables {
		for _, a := range t.Agents {
			if a.rows[0].Agent == name {
				d.Sections = append(d.Sections, s.agentSection(t, a))
			}
		}
	}
	if len(aside) > 0 {
		d.Sections = append(d.Sections, section{Title: "Attempts that do not count", Grids: []page.Grid{s.results("Attempts that do not count", "../", aside, false, true)}})
	}
	return d
}

// figures are all figures of an agent with their intervals.
func (a *Agent) figures() page.Grid {
	names := slices.DeleteFunc(board.MeasureNames(), func(name string) bool { _, ok := a.Measures[name]; return !ok })
	return page.NewGrid("Figures", names, texts("Figure", func(name string) string { return strings.ReplaceAll(strings.TrimSuffix(name, "_percentage"), "_", " ") }),
		texts(">%", func(name string) string { return fmt.Sprintf("%.2f", float64(a.Measures[name].Mean)) }),
		texts(">95 %, other runs", func(name string) string { return a.Measures[name].Runs.Text() }), texts(">95 %, other competitions", func(name string) string { return a.Measures[name].Competitions.Text() }))
}

func (s *Site) agentSection(t *Table, a *Agent) section {
	sec := section{Title: t.Name() + strings.TrimPrefix(a.Name, a.rows[0].Agent), Text: []string{"Checked: " + standingText(a.Standings) + "."}}
	if a.Place > 0 {
		class := lists.Where(t.Agents, func(other *Agent) bool { return conditions.Comparable(other.Class) == conditions.Comparable(a.Class) })
		sec.Text = append(sec.Text, fmt.Sprintf("Place %d of %d in its class%s, tie group %d.", a.Place, len(class), strings.TrimRight(" "+a.ClassLetter, " "), a.Group))
	}
	if a.Behind != nil {
		sec.Text = append(sec.Text, comparisonText(a, a.Behind))
	}
	if len(a.Measures) > 0 {
		sec.Grids = append(sec.Grids, a.figures())
	}
	sec.Grids = append(sec.Grids, disclosed(a), s.results("Attempts", "../", a.rows, false, true))
	if lines := evidenceOf(a.rows); len(lines) > 0 {
		sec.Grids = append(sec.Grids, page.NewGrid("Evidence of integrity", lines, indexed("Attempt", 0), indexed("Evidence", 1)))
	}
	for _, c := range s.competitions() {
		rows := slices.DeleteFunc(slices.Clone(a.rows), func(r *Row) bool { return r.Competition() != c.id })
		if p := curves("Score over time: "+c.title, c.people, rows, func(r *Row) string { return "seed " + r.Seed }); p.Plot != "" {
			sec.Plots = append(sec.Plots, p)
		}
	}
	return sec
}

// evidenceOf lists what was observed of attempts besides their labels.
func evidenceOf(rows []*Row) (lines [][]string) {
	for _, r := range rows {
		for _, line := range r.Integrity().Lines() {
			lines = append(lines, []string{r.Competition() + " " + r.Seed, line})
		}
	}
	return lines
}

// disclosed describes an agent and its resources by its bundles' account.
func disclosed(a *Agent) page.Grid {
	of := func(get func(*Row) string) string {
		list := lists.Of(a.rows, get)
		slices.Sort(list)
		return cmp.Or(strings.Join(slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" }), ", "), "–")
	}
	return page.NewGrid("What the agent was and used", [][]string{
		{"Isolation", a.Overall.Isolation}, {"Runtime", strings.Join(a.Runtimes, "; ")}, {"Task", a.Overall.Task}, {"Class", a.Class}, {"Limits", strings.Join(a.Limits, "; ")},
		{"Image", of(func(r *Row) string { return strings.TrimSpace(r.Image + " " + r.ImageDigest) })}, {"Version of a built-in agent", of(func(r *Row) string { return r.AgentVersion })},
		{"Signed by key", cmp.Or(a.Key, "–")}, {"Tries", a.Tries.cell().Text}, {"Given besides the competition", a.outside().Text},
		{"Command", of(func(r *Row) string { return r.Command })},
		{"Models", cmp.Or(strings.Join(a.Models, " "), "–")}, {"Tokens", amount(a.Tokens)}, {"Cost, USD", costOf(&a.used)}, {"Time of all attempts", took(a.Seconds)},
		{"Usage measured by", of(func(r *Row) string {
			if r.Made.Usage == nil {
				return ""
			}
			return string(r.Made.Usage.Source)
		})},
		{"mleflow, as the bundle says", of(func(r *Row) string { return r.Mleflow })},
	}, indexed("What", 0), indexed("Disclosed", 1))
}

// bundlePage is the data of a bundle's page: its statements and the findings on it.
type bundlePage struct {
	*Bundle
	Version  string
	Findings []Finding
	Grid     page.Grid
	// Answers are the competitions whose rows were graded again with own answers.
	Answers []string
}

func (s *Site) bundlePage(b *Bundle) document {
	answers := map[string]bool{}
	for _, r := range b.Rows {
		if r.Verdict.Answers != "" && r.Verdict.Standing == verify.Recomputed {
			answers[r.Verdict.Competition+" "+r.Verdict.Version] = true
		}
	}
	return document{Title: b.File, Version: s.Version, Template: "bundle", Data: bundlePage{b, s.Version, s.found(func(f Finding) bool { return slices.Contains(f.Files, b.File) }), s.results("Rows", "../", b.Rows, true, true), slices.Sorted(maps.Keys(answers))}}
}

// disclosedGrid is a part of a bundle's disclosure.
func disclosedGrid(part bundle.Section) page.Grid {
	var columns []page.Column[[]string]
	for i, name := range part.Columns {
		columns = append(columns, indexed(name, i))
	}
	return page.NewGrid(part.Title, part.Rows, columns...)
}
