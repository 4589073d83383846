package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/results"
)

// competitionColumns are those of the list of competitions.
var competitionColumns = []field{{Key: "competition", Title: "Competition"}, {Key: "category", Title: "Category"}, {Key: "complexity", Title: "Complexity"}, {Key: "metric", Title: "Metric"},
	{Key: "download", Title: "Download (GB)", Kind: points}, {Key: "attempts", Title: "Attempts", Kind: amounts}, {Key: "agents", Title: "Agents", Kind: amounts}, {Key: "medals", Title: "Medals", Kind: amounts},
	{Key: "best", Title: "Best score"}, {Key: "by", Title: "By"}, {Key: "class", Title: "Class"}}

// competitionsPage lists the competitions with their best results.
func (u *UI) competitionsPage(r *http.Request) (*content, error) {
	now, p := u.results.now()
	by := map[string][]*results.Attempt{}
	for _, a := range now.graded {
		by[a.Competition()] = append(by[a.Competition()], a)
	}
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	ids := catalog.IDs()
	for _, id := range sortedKeys(by) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	letters := classesOf(now.graded)
	t := &table{Noun: "competition", Path: "/competitions", Placeholder: "name, category, metric", Columns: competitionColumns, Facets: []string{"complexity", "category"}, Legend: letters.legend}
	for _, id := range ids {
		t.Lines = append(t.Lines, u.competitionLine(id, by[id], letters))
	}
	slices.SortStableFunc(t.Lines, func(a, b line) int { return cmp.Compare(b.Cells[5].Value, a.Cells[5].Value) })
	c := &content{title: "Competitions", nav: "Competitions", live: !p.Ready}
	if err := c.add("title", "list title", listTitle{"Competitions", p}); err != nil {
		return nil, err
	}
	return c, t.add(c, r)
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
	past, openErr := u.Ledger.Open(newest.RunID)
	if openErr != nil {
		return nil, err
	}
	if catalog, openErr = u.Catalog(past); openErr != nil {
		return nil, err
	}
	return catalog.Get(id)
}

// competitionLine is a competition with the results of all agents. Medals and the best score
// are of real attempts that count.
func (u *UI) competitionLine(id string, list []*results.Attempt, by *classes) line {
	cells := []cell{{Text: id, Link: "/competitions/" + url.PathEscape(id)}, {}, {}, {}, nothing}
	if def, err := u.definition(id, list); err == nil {
		cells[0].Text, cells[0].Sub = def.Title, id
		cells[1].Text, cells[2].Text, cells[3].Text = def.Category, string(def.Complexity), def.Facts.MetricName
		if def.Facts.SizeGB > 0 {
			cells[4] = number(math.Round(100*def.Facts.SizeGB) / 100)
		}
	}
	agents := map[string]bool{}
	best, score := (*results.Attempt)(nil), math.NaN()
	var real []*results.Attempt
	for _, a := range list {
		agents[a.Agent] = true
		if a.WithoutMedals() != "" || competitions.IsMasked(a.Report.CompetitionVersion) {
			continue
		}
		real = append(real, a)
		for _, s := range scoresOf([]*results.Attempt{a}) {
			if best == nil || better(s, score, a.Report.LowerIsBetter) {
				best, score = a, s
			}
		}
	}
	won := results.TallyOf(real)
	cells = append(cells, number(float64(len(list))), number(float64(len(agents))), number(float64(won.Medals())), nothing, nothing, cell{})
	if best != nil {
		cells[8], cells[9], cells[10] = cell{Text: page.Score(score)}, cell{Text: best.Agent, Link: agentAddress(best.Agent, "")}, cell{Text: by.letter(best)}
	}
	return line{Cells: cells}
}

func sizeText(gb float64) string {
	if gb <= 0 {
		return ""
	}
	return page.Score(gb) + " GB"
}

type competitionData struct {
	page.People
	ID, Title, Description, Note string
	// Aside says what the plot leaves out.
	Aside    string
	Facts    []page.Fact
	Errata   []page.Fact
	Public   []competitions.PublicLabels
	Plot     template.HTML
	OffScale bool
	Progress progress
	Source   string
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
	d := competitionData{ID: id, Title: id, Progress: p, People: page.People{ID: id, Gold: math.NaN()}}
	if err == nil {
		d.define(def)
	} else {
		d.Note = "The definition of this competition is not known here. No run names its folder any more; name it with --competitions DIR."
	}
	if len(all) > 0 && len(d.Human) == 0 {
		d.People = page.PeopleOf(all[0].Report)
	}
	t := attemptsTable("/competitions/"+url.PathEscape(id), all, now.newest, "agent", "outcome", "medal")
	t.Empty = "No attempt at this competition was graded with this cache."
	groups, aside := results.Groups(all)
	d.Aside = aside.String()
	var rows []page.Row
	for _, g := range groups {
		for _, a := range g.Attempts {
			if !g.Rehearsal {
				name, _ := t.agent(a)
				rows = withScore(rows, rowName(name, g.Class, t.classes), a)
			}
		}
	}
	d.Plot, d.OffScale = page.Distribution(d.People, rows)
	c := &content{title: d.Title, nav: "Competitions", live: !p.Ready}
	if err := c.add("competition", "competition", d); err != nil {
		return nil, err
	}
	if err := t.add(c, r); err != nil {
		return nil, err
	}
	return c, c.add("definition", "competition definition", d)
}

func (d *competitionData) define(def *competitions.Definition) {
	t := def.Medals.Thresholds
	d.People = page.People{ID: def.ID, LowerIsBetter: def.Medals.LowerIsBetter, Gold: t.Gold, Silver: t.Silver, Bronze: t.Bronze, Median: t.Median, Human: def.Medals.Scores}
	d.Public = def.PublicLabels
	d.Title, d.Description, d.Note, d.Source = def.Title, strings.TrimSpace(def.Description), def.Medals.Note, string(def.Source())
	direction := "higher is better"
	if d.LowerIsBetter {
		direction = "lower is better"
	}
	d.Facts = []page.Fact{{Name: "category", Value: def.Category}, {Name: "complexity", Value: string(def.Complexity)}, {Name: "metric", Value: def.Facts.MetricName + ", " + direction},
		{Name: "download", Value: cmp.Or(sizeText(def.Facts.SizeGB), "not known")}, {Name: "human teams", Value: view.Count(int64(len(def.Medals.Scores)))},
		{Name: "pinned files", Value: fmt.Sprint(len(def.Checksums.Pinned()))}}
	if def.Facts.SampleScore != nil {
		d.Facts = append(d.Facts, page.Fact{Name: "sample submission scores", Value: page.Score(*def.Facts.SampleScore)})
	}
	for _, e := range def.Errata {
		d.Errata = append(d.Errata, page.Fact{Name: e.Version, Value: e.Reason + " (" + e.Reference + ")"})
	}
}
