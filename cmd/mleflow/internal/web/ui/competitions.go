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
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
)

// competitionRow is a competition in the list.
type competitionRow struct {
	ID, Link, Title, Category, Complexity, Metric, Size string
	Attempts, Medals                                    int
	Best                                                string
}

type competitionsData struct {
	Query, Complexity string
	Complexities      []choice
	Rows              []competitionRow
	All               int
	Progress          progress
}

// competitionsPage lists the competitions with their best results.
func (u *UI) competitionsPage(r *http.Request) (*content, error) {
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	results, p := u.results.all()
	q := r.URL.Query()
	d := competitionsData{Query: strings.TrimSpace(q.Get("q")), Complexity: q.Get("complexity"), Progress: p,
		Complexities: choices(q.Get("complexity"), "low", "medium", "high", "dev", "demo")}
	words := strings.Fields(strings.ToLower(d.Query))
	ids := catalog.IDs()
	for _, res := range results {
		if !slices.Contains(ids, res.CompetitionID) {
			ids = append(ids, res.CompetitionID)
		}
	}
	d.All = len(ids)
	for _, id := range ids {
		row := competitionRow{ID: id, Link: "/competitions/" + url.PathEscape(id), Title: id}
		if def, err := catalog.Get(id); err == nil {
			row.Title, row.Category, row.Complexity, row.Metric = def.Title, def.Category, string(def.Complexity), def.Facts.MetricName
			row.Size = sizeText(def.Facts.SizeGB)
		}
		text := strings.ToLower(strings.Join([]string{id, row.Title, row.Category, row.Metric}, " "))
		if d.Complexity != "" && row.Complexity != d.Complexity || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		row.count(results)
		d.Rows = append(d.Rows, row)
	}
	slices.SortStableFunc(d.Rows, func(a, b competitionRow) int { return cmp.Compare(b.Attempts, a.Attempts) })
	c := &content{title: "Competitions", nav: "Competitions", live: !p.Ready}
	if err := c.add("form", "competitions form", d); err != nil {
		return nil, err
	}
	return c, c.add("competitions", "competitions", d)
}

func sizeText(gb float64) string {
	if gb <= 0 {
		return ""
	}
	return page.Score(gb) + " GB"
}

func (row *competitionRow) count(results []*result) {
	best := math.NaN()
	for _, res := range results {
		if res.CompetitionID != row.ID {
			continue
		}
		row.Attempts++
		if res.AnyMedal {
			row.Medals++
		}
		if s := res.ExactScore; s != nil && !math.IsNaN(float64(*s)) && (math.IsNaN(best) || better(float64(*s), best, res.LowerIsBetter)) {
			best = float64(*s)
		}
	}
	if !math.IsNaN(best) {
		row.Best = page.Score(best)
	}
}

// scoreRow is an attempt at a competition.
type scoreRow struct {
	Agent, AgentLink, Seed, Link, Score, Medal, Rank, Reason, Isolation, Run, When string
	Scored                                                                         bool
}

type competitionData struct {
	page.People
	ID, Title, Description, Note string
	Facts                        []page.Fact
	Errata                       []page.Fact
	Public                       []competitions.PublicLabels
	Plot                         template.HTML
	OffScale                     bool
	Rows                         []scoreRow
	Progress                     progress
	Source                       string
}

// competitionPage shows a competition and every agent's results.
func (u *UI) competitionPage(r *http.Request) (*content, error) {
	id := r.PathValue("id")
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	all, p := u.results.all()
	all = slices.DeleteFunc(all, func(res *result) bool { return res.CompetitionID != id })
	def, err := catalog.Get(id)
	if err != nil && len(all) == 0 && p.Ready {
		return nil, fmt.Errorf("%w: %w", errNothing, err)
	}
	d := competitionData{ID: id, Title: id, Progress: p, People: page.People{ID: id, Gold: math.NaN()}}
	if err == nil {
		d.define(def)
	} else {
		d.Note = "The definition of this competition is not known here. Name its folder with --competitions DIR."
	}
	if len(all) > 0 && len(d.Human) == 0 {
		d.People = page.PeopleOf(all[0].Report)
	}
	var rows []page.Row
	for _, res := range all {
		d.Rows = append(d.Rows, scoreRowOf(res))
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
	return c, c.add("competition", "competition", d)
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

func scoreRowOf(res *result) scoreRow {
	row := scoreRow{Agent: res.Agent, AgentLink: agentAddress(res.Agent), Seed: res.Seed, Link: stepAddress(res.Run, res.Address, ""), Medal: res.Report.Best(),
		Reason: cmp.Or(res.Reason, "no valid submission"), Isolation: conditions.Described(res.Conditions), Run: res.Run, When: when(res.Time)}
	if res.ExactScore != nil {
		row.Score, row.Scored = page.Score(float64(*res.ExactScore)), true
		if row.Medal == "none" && res.AboveMedian {
			row.Reason = "above median"
		} else {
			row.Reason = ""
		}
	}
	if res.Rank != nil && row.Scored {
		row.Rank = export.Place(*res.Rank, res.Teams)
	}
	return row
}

func agentAddress(name string) string { return "/agent?" + url.Values{"name": {name}}.Encode() }
