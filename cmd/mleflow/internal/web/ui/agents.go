package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// agentRow is one program of an agent in one class.
type agentRow struct {
	*results.Group
	results.Tally
	agentProgram
	Letter, Isolation, Any, PerMedal string
	// Share is that of attempts with a medal, in percent; NaN if none can win one. Last is
	// the time of the last run.
	Share float64
	Last  time.Time
}

// agentColumns are those of the list of agents.
var agentColumns = []page.Column[agentRow]{
	{Key: "agent", Title: "Agent", Of: func(r agentRow) cell { return cell{Text: r.Name, Link: r.Link} }},
	{Key: "class", Title: "Class", Text: func(r agentRow) string { return r.Letter }},
	{Key: "attempts", Title: "Attempts", Kind: page.Amounts, Of: func(r agentRow) cell { return page.Count(r.Tally.Attempts) }},
	{Key: "competitions", Title: "Competitions", Kind: page.Amounts, Of: func(r agentRow) cell { return page.Count(r.Competitions) }},
	{Key: "medals", Title: "Any medal", Kind: page.Shares, Of: func(r agentRow) cell { return cell{Text: r.Any, Value: r.Share} }},
	{Key: "gold", Title: "Gold", Kind: page.Amounts, Of: func(r agentRow) cell { return page.Count(r.Gold).If(!r.Rehearsal) }},
	{Key: "silver", Title: "Silver", Kind: page.Amounts, Of: func(r agentRow) cell { return page.Count(r.Silver).If(!r.Rehearsal) }},
	{Key: "bronze", Title: "Bronze", Kind: page.Amounts, Of: func(r agentRow) cell { return page.Count(r.Bronze).If(!r.Rehearsal) }},
	{Key: "median", Title: "Above median", Kind: page.Amounts, Of: func(r agentRow) cell { return page.Count(r.AboveMedian).If(!r.Rehearsal) }},
	{Key: "valid", Title: "Valid", Kind: page.Amounts, Of: func(r agentRow) cell { return page.Count(r.Valid) }},
	{Key: "cost", Title: "Cost per medal (USD)", Kind: page.Dollars, Of: agentRow.perMedal},
	{Key: "isolation", Title: "Isolation", Kind: page.Badges, Of: func(r agentRow) cell { return isolationCell(r.Isolation) }},
	{Key: "last", Title: "Last run", Kind: page.Moments, Value: func(r agentRow) float64 { return float64(r.Last.Unix()) }},
}

func (row agentRow) perMedal() cell {
	if row.PerMedal == "" {
		return nothing
	}
	return cell{Text: row.PerMedal, Value: *row.Cost.PerMedal}
}

// agentsPage lists the agents: a row for each program of one and each class.
func (u *UI) agentsPage(r *http.Request) (*content, error) {
	now, p := u.results.now()
	groups, aside := results.Groups(now.graded)
	by := classesOf(now.graded)
	t := &table{Noun: "row", Empty: "No attempt of an agent was graded with this cache.", Path: "/agents", Placeholder: "name", Facets: []string{"class", "isolation"}, Legend: by.legend}
	var rows []agentRow
	for _, g := range groups {
		rows = append(rows, agentRowOf(g, by))
	}
	fillTable(t, agentColumns, rows, func(r agentRow) line { return line{Compare: r.Compare()} })
	c := list("Agents", p)
	t.show(c, r)
	c.show("note", "agents note", aside.String())
	return c, c.err
}

func agentRowOf(g *results.Group, by *classes) agentRow {
	sum := results.TallyOf(g.Attempts)
	row := agentRow{Group: g, Tally: sum, agentProgram: withProgram(g.Agent, g.Program, g.Newest), PerMedal: aggregate.PerMedalText(sum.Cost), Letter: by.letters[g.Class], Share: nothing.Value}
	var sets [][]string
	for _, a := range g.Attempts {
		sets = append(sets, a.Report.Conditions)
		if at, err := time.Parse(time.RFC3339, a.Started); err == nil && at.After(row.Last) {
			row.Last = at
		}
	}
	row.Isolation = conditions.Described(sets...)
	if share, ok := row.Tally.Share(); ok {
		row.Share, row.Any = share, fmt.Sprintf("%d (%.0f%%)", row.Medals(), share)
	} else if row.Any = "no leaderboard"; g.Rehearsal {
		row.Any = "rehearsal"
	}
	return row
}

// agentScores is an agent's attempts at one competition.
type agentScores struct {
	page.AmongPeople
	Link, Title string
}

type agentData struct {
	agentProgram
	Rows []agentRow
	// Others are the programs of the same name.
	Others       []agentProgram
	Aside        string
	Competitions []agentScores
	Progress     progress
}

// agentPage shows the results of an agent's newest program, or of another one, at every
// competition.
func (u *UI) agentPage(r *http.Request) (*content, error) {
	name, program := r.URL.Query().Get("name"), r.URL.Query().Get("program")
	now, p := u.results.now()
	own := slices.DeleteFunc(slices.Clone(now.graded), func(a *results.Attempt) bool { return a.Agent != name })
	if len(own) == 0 && p.Ready {
		return nil, fmt.Errorf("%w: no attempt of an agent of that name was graded", errNothing)
	}
	chosen := programOf(program, now.newest[name])
	d := agentData{agentProgram: withProgram(name, chosen, chosen == now.newest[name]), Progress: p}
	seen := map[string]bool{chosen: true}
	for _, a := range own {
		if !seen[a.Program] {
			seen[a.Program] = true
			d.Others = append(d.Others, withProgram(name, a.Program, a.Program == now.newest[name]))
		}
	}
	own = slices.DeleteFunc(own, func(a *results.Attempt) bool { return a.Program != chosen })
	t := newAttemptTable("/agent", own, now.newest, nil, "competition", "outcome", "medal")
	t.Keep = []string{"name", "program"}
	groups, aside := results.Groups(own)
	d.Aside = aside.String()
	for _, g := range groups {
		d.Rows = append(d.Rows, agentRowOf(g, t.classes))
	}
	u.plots(&d, groups, t.classes)
	c := &content{title: d.Name, nav: "Agents", live: !p.Ready}
	c.show("agent", "agent", d)
	t.show(c, r)
	c.show("plots", "agent plots", d)
	return c, c.err
}

// plots draws an agent's scores among those of people, a row for each class.
func (u *UI) plots(d *agentData, groups []*results.Group, by *classes) {
	rows, reports := map[string][]page.Row{}, map[string]*results.Attempt{}
	for _, g := range groups {
		for _, a := range g.Attempts {
			if !g.Rehearsal {
				rows[a.Competition()] = page.AddScores(rows[a.Competition()], rowName(d.Name, g.Class, by), scoresOf([]*results.Attempt{a})...)
				reports[a.Competition()] = a
			}
		}
	}
	for _, id := range sortedKeys(rows) {
		people := page.PeopleOf(reports[id].Report)
		s := agentScores{Title: id, Link: competitionAddress(id)}
		if def, err := u.definition(id, []*results.Attempt{reports[id]}); err == nil {
			s.Title, people.Human = def.Title, def.Medals.Scores
		}
		s.AmongPeople = page.Distribution(people, rows[id])
		d.Competitions = append(d.Competitions, s)
	}
}

// rowName is the name of an agent in a plot, with its class if there are several.
func rowName(agent, class string, by *classes) string {
	if len(by.names) > 1 {
		return agent + " (class " + by.letters[class] + ")"
	}
	return agent
}

func agentAddress(name, program string) string {
	q := url.Values{"name": {name}}
	if program != "" {
		q.Set("program", program)
	}
	return "/agent?" + q.Encode()
}
