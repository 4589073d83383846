package ui

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/results"
)

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

func competitionAddress(id string) string { return "/competitions/" + url.PathEscape(id) }

// competitionsPage lists the competitions with their best results.
func (u *UI) competitionsPage(r *http.Request) (*content, error) {
	now, p := u.results.now()
	by := byCompetition(now.graded)
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	ids := known(catalog, by)
	letters := classesOf(now.graded)
	t := &table{Noun: "competition", Path: "/competitions", Placeholder: "name, category, metric", Facets: []string{"complexity", "category"}, Legend: letters.legend}
	slices.SortStableFunc(ids, func(a, b string) int { return len(by[b]) - len(by[a]) })
	var rows []competitionRow
	for _, id := range ids {
		rows = append(rows, u.competitionRow(id, by[id], letters))
	}
	fillTable(t, competitionColumns, rows, func(competitionRow) line { return line{} })
	c := list("Competitions", p)
	t.show(c, r)
	return c, c.err
}

// known are the competitions of a catalog, and those that were tried.
func known[V any](catalog *competitions.Catalog, tried map[string]V) []string {
	ids := catalog.IDs()
	for _, id := range sortedKeys(tried) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
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
	agents := map[string]bool{}
	var counted []*results.Attempt
	for _, a := range list {
		agents[a.Agent] = true
		if a.WithoutMedals() == "" && !competitions.IsMasked(a.Report.CompetitionVersion) {
			counted = append(counted, a)
		}
	}
	tally := results.TallyOf(counted)
	row.agents, row.medals = len(agents), tally.Medals()
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
	var rows []page.Row
	for _, g := range groups {
		for _, a := range g.Attempts {
			if !g.Rehearsal {
				rows = page.AddScores(rows, rowName(t.name(a), g.Class, t.classes), scoresOf([]*results.Attempt{a})...)
			}
		}
	}
	d.AmongPeople = page.Distribution(people, rows)
	c := &content{title: title, nav: "Competitions", live: !p.Ready}
	c.show("competition", "competition", d)
	t.show(c, r)
	c.show("definition", "competition definition", d)
	return c, c.err
}
