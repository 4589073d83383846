package ui

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
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
	t := &table{Noun: "row", Empty: "No attempt of an agent was graded with this cache.", Path: "/agents", Placeholder: "name", Facets: []string{"class", "isolation"}, Legend: by.legend()}
	rows := lists.Of(groups, func(g *results.Group) agentRow { return agentRowOf(g, by) })
	fillTable(t, agentColumns, rows, func(r agentRow) gridLine { return gridLine{Compare: r.Compare()} })
	c := listContent("Agents", p)
	t.show(c, r)
	c.show("note", "agents note", aside.String())
	return c, c.err
}

func agentRowOf(g *results.Group, by *classes) agentRow {
	sum := results.TallyOf(g.Attempts)
	row := agentRow{Group: g, Tally: sum, agentProgram: withProgram(g.Agent, g.Program, g.Newest), PerMedal: aggregate.PerMedalText(sum.Cost), Letter: by.of(g.Class), Share: nothing.Value}
	for _, a := range g.Attempts {
		if at, err := time.Parse(time.RFC3339, a.Started); err == nil && at.After(row.Last) {
			row.Last = at
		}
	}
	row.Isolation = conditions.Described(lists.Of(g.Attempts, func(a *results.Attempt) []string { return a.Report.Conditions })...)
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
	for _, of := range lists.Grouped(own, func(a *results.Attempt) string { return a.Program }) {
		if program := of[0].Program; program != chosen {
			d.Others = append(d.Others, withProgram(name, program, program == now.newest[name]))
		}
	}
	own = slices.DeleteFunc(own, func(a *results.Attempt) bool { return a.Program != chosen })
	t := newAttemptTable("/agent", own, now.newest, nil, "competition", "outcome", "medal")
	t.Keep = []string{"name", "program"}
	groups, aside := results.Groups(own)
	d.Aside = aside.String()
	d.Rows = lists.Of(groups, func(g *results.Group) agentRow { return agentRowOf(g, t.classes) })
	u.plots(&d, own, t.classes)
	c := &content{title: d.Name, nav: "Agents", live: !p.Ready}
	c.show("agent", "agent", d)
	t.show(c, r)
	c.show("plots", "agent plots", d)
	return c, c.err
}

// plots draws an agent's scores among those of people, a row for each class.
func (u *UI) plots(d *agentData, own []*results.Attempt, by *classes) {
	at := byCompetition(own)
	for _, id := range view.SortedKeys(at) {
		groups, _ := results.Groups(at[id])
		rows := scoreRows(groups, by, func(*results.Attempt) string { return d.Name })
		if len(rows) == 0 {
			continue // only rehearsals
		}
		s, people := agentScores{Title: id, Link: competitionAddress(id)}, page.PeopleOf(at[id][0].Report)
		if def, err := u.definition(id, at[id]); err == nil {
			s.Title, people.Human = def.Title, def.Medals.Scores
		}
		s.AmongPeople = page.Distribution(people, rows)
		d.Competitions = append(d.Competitions, s)
	}
}

// scoreRows are the scores of attempts, a row for each name and class, without rehearsals.
func scoreRows(groups []*results.Group, by *classes, name func(*results.Attempt) string) (rows []page.Row) {
	for _, g := range groups {
		for _, a := range g.Attempts {
			if !g.Rehearsal {
				rows = page.AddScores(rows, rowName(name(a), g.Class, by), scoresOf([]*results.Attempt{a})...)
			}
		}
	}
	return rows
}

// rowName is the name of an agent in a plot, with its class if there are several.
func rowName(agent, class string, by *classes) string {
	return agent + view.When(len(by.names) > 1, " (class "+by.of(class)+")")
}

// competitionRow is a competition with the results of all agents. Medals and the best score
// are of real attempts that count.
type competitionRow struct {
	*competitions.Definition
	name, by              cell
	score, letter         string
	tried, agents, medals int
}

// competitionColumns are those of the list of competitions.
var competitionColumns = []page.Column[competitionRow]{
	{Key: "competition", Title: "Competition", Of: func(r competitionRow) cell { return r.name }},
	{Key: "category", Title: "Category", Text: func(r competitionRow) string { return r.Category }},
	{Key: "complexity", Title: "Complexity", Text: func(r competitionRow) string { return string(r.Complexity) }},
	{Key: "metric", Title: "Metric", Text: func(r competitionRow) string { return r.Facts.MetricName }},
	{Key: "download", Title: "Download (GB)", Kind: page.Points, Of: func(r competitionRow) cell {
		return cell{Value: math.Round(100*r.Facts.SizeGB) / 100}.If(r.Facts.SizeGB > 0)
	}},
	{Key: "attempts", Title: "Attempts", Kind: page.Amounts, Of: func(r competitionRow) cell { return page.Count(r.tried) }},
	{Key: "agents", Title: "Agents", Kind: page.Amounts, Of: func(r competitionRow) cell { return page.Count(r.agents) }},
	{Key: "medals", Title: "Medals", Kind: page.Amounts, Of: func(r competitionRow) cell { return page.Count(r.medals) }},
	{Key: "best", Title: "Best score", Text: func(r competitionRow) string { return r.score }},
	{Key: "by", Title: "By", Of: func(r competitionRow) cell { return r.by }},
	{Key: "class", Title: "Class", Text: func(r competitionRow) string { return r.letter }},
}

// competitionsPage lists the competitions with their best results.
func (u *UI) competitionsPage(r *http.Request) (*content, error) {
	now, p := u.results.now()
	by := byCompetition(now.graded)
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	ids := knownCompetitions(catalog, by)
	letters := classesOf(now.graded)
	t := &table{Noun: "competition", Path: "/competitions", Placeholder: "name, category, metric", Facets: []string{"complexity", "category"}, Legend: letters.legend()}
	slices.SortStableFunc(ids, func(a, b string) int { return len(by[b]) - len(by[a]) })
	rows := lists.Of(ids, func(id string) competitionRow { return u.competitionRow(id, by[id], letters) })
	fillTable(t, competitionColumns, rows, func(competitionRow) gridLine { return gridLine{} })
	c := listContent("Competitions", p)
	t.show(c, r)
	return c, c.err
}

// knownCompetitions are the competitions of a catalog, and those that were tried.
func knownCompetitions[V any](catalog *competitions.Catalog, tried map[string]V) []string {
	ids := catalog.IDs()
	return append(ids, slices.DeleteFunc(view.SortedKeys(tried), func(id string) bool { return slices.Contains(ids, id) })...)
}

// definition is what is known of a competition, from the catalog or, for one that is
// not in it, from the folders that the newest run with a result names.
func (u *UI) definition(id string, list []*results.Attempt) (*competitions.Definition, error) {
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	def, err := catalog.Get(id)
	if err == nil || len(list) == 0 {
		return def, err
	}
	newest := slices.MaxFunc(list, func(a, b *results.Attempt) int { return cmp.Compare(a.RunID, b.RunID) })
	past, openErr := u.History.Open(newest.RunID)
	if openErr != nil {
		return nil, err
	}
	if catalog, openErr = u.Catalog(past); openErr != nil {
		return nil, err
	}
	return catalog.Get(id)
}

func (u *UI) competitionRow(id string, list []*results.Attempt, by *classes) competitionRow {
	row := competitionRow{Definition: &competitions.Definition{}, name: cell{Text: id, Link: competitionAddress(id)}, tried: len(list)}
	if def, err := u.definition(id, list); err == nil {
		row.Definition, row.name.Text, row.name.Sub = def, def.Title, id
	}
	counted := slices.DeleteFunc(slices.Clone(list), func(a *results.Attempt) bool {
		return a.WithoutMedals() != "" || competitions.IsMasked(a.Report.CompetitionVersion)
	})
	tally := results.TallyOf(counted)
	row.agents, row.medals = len(view.Names(list, agentOf)), tally.Medals()
	if best := results.Best(counted); best != nil {
		row.score, row.letter = page.Score(float64(*best.Report.ExactScore)), by.letter(best)
		row.by = cell{Text: best.Agent, Link: agentAddress(best.Agent, "")}
	}
	return row
}

// competitionData is the page of a competition.
type competitionData struct {
	page.AmongPeople
	Def *competitions.Definition // nil if it is not known
	// Aside says what the plot leaves out.
	Aside    string
	Progress progress
}

// competitionPage shows a competition and every agent's results.
func (u *UI) competitionPage(r *http.Request) (*content, error) {
	id := r.PathValue("id")
	now, p := u.results.now()
	all := slices.DeleteFunc(slices.Clone(now.graded), func(a *results.Attempt) bool { return a.Competition() != id })
	def, err := u.definition(id, all)
	if err != nil && len(all) == 0 && p.Ready {
		return nil, fmt.Errorf("%w: %w", errNothing, err)
	}
	d := competitionData{Def: def, Progress: p}
	title, people := id, page.People{ID: id, Gold: math.NaN()}
	if def != nil {
		m := def.Medals
		title, people = def.Title, page.People{ID: def.ID, LowerIsBetter: m.LowerIsBetter, Gold: m.Thresholds.Gold, Silver: m.Thresholds.Silver, Bronze: m.Thresholds.Bronze, Median: m.Thresholds.Median, Human: m.Scores}
	}
	if len(all) > 0 && len(people.Human) == 0 {
		people = page.PeopleOf(all[0].Report)
	}
	t := newAttemptTable(competitionAddress(id), all, now.newest, nil, "agent", "outcome", "medal")
	t.Empty = "No attempt at this competition was graded with this cache."
	groups, aside := results.Groups(all)
	d.Aside = aside.String()
	d.AmongPeople = page.Distribution(people, scoreRows(groups, t.classes, t.name))
	c := &content{title: title, nav: "Competitions", live: !p.Ready}
	c.show("competition", "competition", d)
	t.show(c, r)
	c.show("definition", "competition definition", d)
	return c, c.err
}
