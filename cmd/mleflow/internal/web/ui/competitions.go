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
	"github.com/mleflow/mleflow/competitions/board"
)

// competitionColumns are those of the list of competitions.
var competitionColumns = []field{{Key: "competition", Title: "Competition"}, {Key: "category", Title: "Category"}, {Key: "complexity", Title: "Complexity"}, {Key: "metric", Title: "Metric"},
	{Key: "download", Title: "Download (GB)", Kind: points}, {Key: "attempts", Title: "Attempts", Kind: amounts}, {Key: "agents", Title: "Agents", Kind: amounts}, {Key: "medals", Title: "Medals", Kind: amounts},
	{Key: "best", Title: "Best score"}, {Key: "by", Title: "By"}}

// competitionsPage lists the competitions with their best results.
func (u *UI) competitionsPage(r *http.Request) (*content, error) {
	results, p := u.results.all()
	by := map[string][]*result{}
	for _, res := range results {
		by[res.CompetitionID] = append(by[res.CompetitionID], res)
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
	t := &table{Noun: "competition", Path: "/competitions", Placeholder: "name, category, metric", Columns: competitionColumns, Facets: []string{"complexity", "category"}}
	for _, id := range ids {
		t.Lines = append(t.Lines, u.competitionLine(id, by[id]))
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
func (u *UI) definition(id string, results []*result) (*competitions.Definition, error) {
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	def, err := catalog.Get(id)
	if err == nil || len(results) == 0 {
		return def, err
	}
	newest := slices.MaxFunc(results, func(a, b *result) int { return cmp.Compare(a.Run, b.Run) })
	past, openErr := u.Ledger.Open(newest.Run)
	if openErr != nil {
		return nil, err
	}
	if catalog, openErr = u.Catalog(past); openErr != nil {
		return nil, err
	}
	return catalog.Get(id)
}

// competitionLine is a competition with the results of all agents.
func (u *UI) competitionLine(id string, results []*result) line {
	cells := []cell{{Text: id, Link: "/competitions/" + url.PathEscape(id)}, {}, {}, {}, nothing}
	if def, err := u.definition(id, results); err == nil {
		cells[0].Text, cells[0].Sub = def.Title, id
		cells[1].Text, cells[2].Text, cells[3].Text = def.Category, string(def.Complexity), def.Facts.MetricName
		if def.Facts.SizeGB > 0 {
			cells[4] = number(math.Round(100*def.Facts.SizeGB) / 100)
		}
	}
	agents := map[string]bool{}
	won := 0
	best, by := math.NaN(), ""
	for _, res := range results {
		agents[res.Agent] = true
		won += board.Count(res.AnyMedal)
		if s := res.ExactScore; s != nil && !math.IsNaN(float64(*s)) && (math.IsNaN(best) || better(float64(*s), best, res.LowerIsBetter)) {
			best, by = float64(*s), res.Agent
		}
	}
	cells = append(cells, number(float64(len(results))), number(float64(len(agents))), number(float64(won)), nothing, nothing)
	if by != "" {
		cells[8], cells[9] = cell{Text: page.Score(best)}, cell{Text: by, Link: agentAddress(by)}
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
	Facts                        []page.Fact
	Errata                       []page.Fact
	Public                       []competitions.PublicLabels
	Plot                         template.HTML
	OffScale                     bool
	Progress                     progress
	Source                       string
}

// competitionPage shows a competition and every agent's results.
func (u *UI) competitionPage(r *http.Request) (*content, error) {
	id := r.PathValue("id")
	all, p := u.results.all()
	all = slices.DeleteFunc(all, func(res *result) bool { return res.CompetitionID != id })
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
	var rows []page.Row
	for _, res := range all {
		i := slices.IndexFunc(rows, func(row page.Row) bool { return row.Name == res.Agent })
		if i < 0 {
			i = len(rows)
			rows = append(rows, page.Row{Name: res.Agent})
		}
		if res.ExactScore != nil {
			rows[i].Scores = append(rows[i].Scores, float64(*res.ExactScore))
		}
	}
	d.Plot, d.OffScale = page.Distribution(d.People, rows)
	c := &content{title: d.Title, nav: "Competitions", live: !p.Ready}
	if err := c.add("competition", "competition", d); err != nil {
		return nil, err
	}
	t := resultsTable("/competitions/"+url.PathEscape(id), all, "agent", "outcome", "medal")
	t.Empty = "No attempt at this competition was graded with this cache."
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

func agentAddress(name string) string { return "/agent?" + url.Values{"name": {name}}.Encode() }
