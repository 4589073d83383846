package site

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/audit"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/export"
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
	by := map[string]*competition{}
	for _, r := range s.rows {
		c := by[r.Report.CompetitionID]
		if c == nil {
			c = s.competition(r)
			by[c.id] = c
		}
		c.rows = append(c.rows, r)
	}
	var list []*competition
	for _, id := range slices.Sorted(maps.Keys(by)) {
		c := by[id]
		slices.SortStableFunc(c.rows, func(x, y *Row) int {
			return cmp.Or(cmp.Compare(x.Agent, y.Agent), results.CompareSeeds(x.Seed, y.Seed), cmp.Compare(x.RunID, y.RunID), cmp.Compare(x.GradeAddress, y.GradeAddress))
		})
		list = append(list, c)
	}
	return list
}

func (s *Site) competition(r *Row) *competition {
	rep := r.Report
	c := &competition{id: rep.CompetitionID, title: rep.CompetitionID, people: page.PeopleOf(rep)}
	if def, err := s.catalog.Get(c.id); err == nil {
		c.title, c.people.Human, c.note, c.public = def.Title, def.Medals.Scores, def.Medals.Note, def.PublicLabels
	}
	return c
}

// top is the best row of the class with the most rows; nil if none has a score that counts.
func (c *competition) top() *Row {
	_, class, _ := results.Selection{Programs: true}.Comparable(counting(c.rows))
	var best *Row
	for _, r := range c.rows {
		v := r.Report.ExactScore
		if r.Aside != "" || v == nil || r.NoScore() != "" || r.Class() != class {
			continue
		}
		if best == nil || c.people.LowerIsBetter && *v < *best.Report.ExactScore || !c.people.LowerIsBetter && *v > *best.Report.ExactScore {
			best = r
		}
	}
	return best
}

func (c *competition) best() string {
	if r := c.top(); r != nil {
		return page.Score(float64(*r.Report.ExactScore))
	}
	return "–"
}

func (c *competition) by() string {
	if r := c.top(); r != nil {
		return r.Agent
	}
	return "–"
}

// results is a table of rows; up is the path to the folder of the board.
func (s *Site) results(caption, up string, rows []*Row, agents, competitions bool) grid {
	names := []string{}
	if agents {
		names = append(names, "Agent")
	}
	if competitions {
		names = append(names, "Competition")
	}
	names = append(names, "Seed", ">Score")
	for _, at := range s.stops {
		names = append(names, ">… after "+export.After(at))
	}
	names = append(names, "Medal", "Place", ">Percentile", "Checked", "Ended", ">Time", ">Tokens", ">Cost, USD", "Tries")
	if checked(rows) {
		names = append(names, "Rule checks")
	}
	names = append(names, "Bundle", "Remarks")
	g := newGrid(caption, names...)
	for _, r := range rows {
		var cells []entry
		if agents {
			cells = append(cells, link(r.Agent, up+agentPath(r.Agent)))
		}
		if competitions {
			cells = append(cells, link(r.Report.CompetitionID, up+competitionPath(r.Report.CompetitionID)))
		}
		own := r.cells(up)
		cells = append(cells, own[:2]...)
		for _, at := range s.stops {
			cells = append(cells, text(r.scoreAt(at)))
		}
		cells = append(cells, own[2:len(own)-2]...)
		if checked(rows) {
			cells = append(cells, foundIn(r.Check))
		}
		g.add(append(cells, own[len(own)-2:]...)...)
	}
	return g
}

// scoreAt is the score had the attempt been stopped at a time, with its medal.
func (r *Row) scoreAt(at time.Duration) string {
	s := r.Stopped(at)
	switch {
	case s == nil || r.Verdict.Standing == audit.Refused:
		return "–"
	case s.ExactScore == nil:
		return strings.ReplaceAll(string(s.Outcome), "_", " ")
	case results.Medal(*s) != "":
		return page.Score(float64(*s.ExactScore)) + " " + results.Medal(*s)
	}
	return page.Score(float64(*s.ExactScore))
}

func (r *Row) cells(up string) []entry {
	rep := r.Report
	score, place, percentile := cmp.Or(r.NoScore(), "–"), "–", "–"
	if rep.ExactScore != nil {
		score = page.Score(float64(*rep.ExactScore))
	}
	if p := results.Percentile(rep); p != nil {
		place, percentile = results.Place(*rep.Rank, rep.Teams), strconv.FormatFloat(*p, 'f', 1, 64)
	}
	medal := entry{Medal: cmp.Or(results.Medal(rep), "none")}
	checked := entry{Text: standingWords[r.Verdict.Standing], Pill: "good"}
	switch r.Verdict.Standing {
	case audit.Claimed:
		checked.Pill = "warn"
	case audit.Refused:
		checked.Pill = "bad"
		score, place, percentile, medal = "–", "–", "–", entry{Medal: "none"}
	}
	remarks := slices.Clone(r.Verdict.Flags)
	if r.Verdict.Unchecked != "" && r.Verdict.Standing != audit.Refused {
		remarks = append(remarks, "public data: not checked: "+r.Verdict.Unchecked)
	}
	if r.Unproven != "" {
		remarks = append(remarks, "tries not provable: "+r.Unproven)
	}
	if n := r.Verdict.Others; n > 0 {
		remarks = append(remarks, view.Plural(n, "other attempt")+" in its place or of the same agent before it")
	}
	if r.Aside != "" {
		remarks = append(remarks, "Does not count: "+r.Aside)
	} else if r.Verdict.Standing == audit.Claimed {
		remarks = append(remarks, "no answers, or not all files, to grade it again with")
	}
	return []entry{
		text(cmp.Or(r.Seed, "–")), text(score), medal, {Text: place, Class: "nowrap"}, text(percentile), checked, text(cmp.Or(string(r.Made.Outcome), "–")), text(took(r.Made.WallSeconds)),
		text(amount(r.Made.Usage.Tokens(), 0)), text(costOf(r.Made.Usage)), r.tried().entry(), link(r.Bundle.File, up+bundlePath(r.Bundle)), {Text: strings.Join(append(remarks, texts(r.Outside)...), "; "), Class: "why"},
	}
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
		points, best := page.Line{Name: name(r), Color: len(c.Lines) / 2}, page.Line{Name: name(r) + ", best so far", Steps: true, Color: len(c.Lines) / 2}
		var top *float64
		for _, s := range r.Snapshots {
			at := time.Duration(s.Seconds) * time.Second
			if s.Score == nil {
				continue
			}
			points.Moments = append(points.Moments, page.Moment{At: at, Score: *s.Score})
			if top == nil || people.LowerIsBetter && *s.Score < *top || !people.LowerIsBetter && *s.Score > *top {
				top = s.Score
			}
			best.Moments = append(best.Moments, page.Moment{At: at, Score: *top})
		}
		c.Lines = append(c.Lines, points, best)
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
	by := map[Setting][]*Row{}
	for _, r := range c.rows {
		by[r.setting()] = append(by[r.setting()], r)
	}
	for _, at := range slices.SortedFunc(maps.Keys(by), compareSettings) {
		rows := by[at]
		sec := section{Title: (&Table{Setting: at}).Name(), Grids: []grid{s.results("Attempts", "../", rows, true, false)}}
		if c.note != "" {
			sec.Text = append(sec.Text, c.note)
		}
		if drawn, off := page.Distribution(c.people, scores(rows)); drawn != "" {
			sec.Plots = append(sec.Plots, plot{Title: "Scores against those of people", Plot: drawn, People: &legend{c.people, off}})
		}
		if p := curves("Score over time", c.people, rows, func(r *Row) string { return r.Agent + ", seed " + r.Seed }); p.Plot != "" {
			sec.Plots = append(sec.Plots, p)
		}
		d.Sections = append(d.Sections, sec)
	}
	if len(c.public) > 0 {
		g := newGrid("Public labels", "Collection", "It has", "What is the same", "Evidence")
		for _, p := range c.public {
			g.add(entry{Text: p.Name, Link: p.URL, Outside: true}, text(p.Extent()), text(p.Note), entry{Text: p.Reference, Link: p.Reference, Outside: true})
		}
		d.Sections = append(d.Sections, section{Title: "Where its labels are public", Grids: []grid{g}})
	}
	return d
}

// scores returns the scores of the rows that count, by agent.
func scores(rows []*Row) (list []page.Row) {
	for _, r := range rows {
		if r.Aside != "" || r.Report.ExactScore == nil {
			continue
		}
		if len(list) == 0 || list[len(list)-1].Name != r.Agent {
			list = append(list, page.Row{Name: r.Agent})
		}
		last := &list[len(list)-1]
		last.Scores = append(last.Scores, float64(*r.Report.ExactScore))
	}
	return list
}

// agentPage shows all rows of an agent, whether they count or not.
func (s *Site) agentPage(name string) document {
	d := document{Title: name, Version: s.Version}
	if sec := s.findings(func(f Finding) bool { return f.About == name }, "Look at these first"); len(sec.Alarm) > 0 {
		d.Sections = append(d.Sections, sec)
	}
	var aside []*Row
	for _, r := range s.rows {
		if r.Agent == name && r.Aside != "" {
			aside = append(aside, r)
		}
	}
	for _, t := range s.Tables {
		for _, a := range t.Agents {
			if a.rows[0].Agent == name {
				d.Sections = append(d.Sections, s.agentSection(t, a))
			}
		}
	}
	if len(aside) > 0 {
		d.Sections = append(d.Sections, section{Title: "Attempts that do not count", Grids: []grid{s.results("Attempts that do not count", "../", aside, false, true)}})
	}
	return d
}

// figures are all figures of an agent with their intervals.
func (a *Agent) figures() grid {
	g := newGrid("Figures", "Figure", ">%", ">95 %, other runs", ">95 %, other competitions")
	for _, name := range board.MeasureNames() {
		if m, ok := a.Measures[name]; ok {
			g.add(text(strings.ReplaceAll(strings.TrimSuffix(name, "_percentage"), "_", " ")), text(fmt.Sprintf("%.2f", float64(m.Mean))), text(m.Runs.Text()), text(m.Competitions.Text()))
		}
	}
	return g
}

func (s *Site) agentSection(t *Table, a *Agent) section {
	sec := section{Title: t.Name() + strings.TrimPrefix(a.Name, a.rows[0].Agent), Text: []string{"Checked: " + standingText(a.Standings) + "."}}
	if a.Place > 0 {
		sec.Text = append(sec.Text, fmt.Sprintf("Place %d of %d in its class%s, tie group %d.", a.Place, t.inClass(a), strings.TrimRight(" "+a.ClassLetter, " "), a.Group))
	}
	if a.Behind != nil {
		sec.Text = append(sec.Text, comparisonText(a, a.Behind))
	}
	if len(a.Measures) > 0 {
		sec.Grids = append(sec.Grids, a.figures())
	}
	sec.Grids = append(sec.Grids, disclosed(a), s.results("Attempts", "../", a.rows, false, true))
	for _, c := range s.competitions() {
		var rows []*Row
		for _, r := range a.rows {
			if r.Report.CompetitionID == c.id {
				rows = append(rows, r)
			}
		}
		if p := curves("Score over time: "+c.title, c.people, rows, func(r *Row) string { return "seed " + r.Seed }); p.Plot != "" {
			sec.Plots = append(sec.Plots, p)
		}
	}
	return sec
}

// disclosed describes an agent and its resources by its bundles' account.
func disclosed(a *Agent) grid {
	of := func(get func(*Row) string) string {
		var list []string
		for _, r := range a.rows {
			list = append(list, get(r))
		}
		slices.Sort(list)
		return cmp.Or(strings.Join(slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" }), ", "), "–")
	}
	g := newGrid("What the agent was and used", "What", "Disclosed")
	for _, row := range [][2]string{
		{"Isolation", a.Overall.Isolation}, {"Runtime", strings.Join(a.Runtimes, "; ")}, {"Task", a.Overall.Task}, {"Class", a.Class}, {"Limits", strings.Join(a.Limits, "; ")},
		{"Image", of(func(r *Row) string { return strings.TrimSpace(r.Image + " " + r.ImageDigest) })}, {"Version of a built-in agent", of(func(r *Row) string { return r.AgentVersion })},
		{"Signed by key", cmp.Or(a.Key, "–")}, {"Tries", a.Tries.entry().Text}, {"Given besides the competition", a.outside().Text},
		{"Command", of(func(r *Row) string { return r.Command })},
		{"Models", cmp.Or(strings.Join(a.Models, " "), "–")}, {"Tokens", amount(a.Tokens, 0)}, {"Cost, USD", costOf(&a.used)}, {"Time of all attempts", took(a.Seconds)},
		{"Usage measured by", of(func(r *Row) string {
			if r.Made.Usage == nil {
				return ""
			}
			return string(r.Made.Usage.Source)
		})},
		{"mleflow, as the bundle says", of(func(r *Row) string { return r.Mleflow })},
	} {
		g.add(text(row[0]), text(row[1]))
	}
	return g
}

// bundlePage shows a bundle's statements and the findings on it.
func (s *Site) bundlePage(b *Bundle) document {
	d := document{Title: b.File, Version: s.Version, Lead: []string{"Run " + b.Run + " of " + b.Pipeline + ", " + page.Date(b.Started)}}
	d.Facts = []page.Fact{{Name: "rows", Value: strconv.Itoa(len(b.Rows))}, {Name: "signatures", Value: strconv.Itoa(b.Signatures)}, {Name: "left out", Value: view.Plural(b.Omitted, "thing")}}
	if sec := s.findings(func(f Finding) bool { return slices.Contains(f.Files, b.File) }, "Look at these first"); len(sec.Alarm) > 0 {
		d.Sections = append(d.Sections, sec)
	}
	checked := section{Title: "Checked", Grids: []grid{s.results("Rows", "../", b.Rows, true, true)}, Text: []string{
		"Manifest sha256:" + b.Manifest + ". Every byte matches its digest; lock, disclosure and provenance were derived again from the records. The version of mleflow and the SHA-256 of its binary are only claimed.",
	}}
	if len(b.Pinned) > 0 {
		checked.Text = append(checked.Text, "Matched by digest: the prepared data of "+strings.Join(b.Pinned, ", ")+", with the manifests that this version of mleflow pins.")
	}
	if e := b.Evaluation; e != nil {
		checked.Text = append(checked.Text, "Evaluation "+e.Name+", from the reports and the chain: "+view.Evaluation(*e)+". It chose the number of attempts at each competition.")
	}
	answers := map[string]bool{}
	for _, r := range b.Rows {
		if r.Verdict.Answers != "" && r.Verdict.Standing == audit.Recomputed {
			answers[r.Verdict.Competition+" "+r.Verdict.Version] = true
		}
	}
	if len(answers) > 0 {
		checked.Text = append(checked.Text, "Graded again with own answers: "+strings.Join(slices.Sorted(maps.Keys(answers)), ", ")+".")
	}
	d.Sections = append(d.Sections, checked)
	for _, part := range b.Disclosure.Sections() {
		sec := section{Title: part.Title}
		if len(part.Rows) == 0 {
			sec.Text = []string{"None."}
		} else {
			g := newGrid(part.Title, part.Columns...)
			for _, row := range part.Rows {
				var cells []entry
				for _, c := range row {
					cells = append(cells, text(c))
				}
				g.add(cells...)
			}
			sec.Grids = []grid{g}
		}
		d.Sections = append(d.Sections, sec)
	}
	return d
}
