package ui

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// agentRow is an agent in the list.
type agentRow struct {
	Name, Link, Compare, Isolation, Class                       string
	Attempts, Competitions, Valid, Median, Gold, Silver, Bronze int
	Any                                                         string
	Last                                                        string
}

type agentsData struct {
	Query    string
	Rows     []agentRow
	All      int
	Progress progress
}

// agentsPage lists the agents.
func (u *UI) agentsPage(r *http.Request) (*content, error) {
	results, p := u.results.all()
	d := agentsData{Query: strings.TrimSpace(r.URL.Query().Get("q")), Progress: p}
	words := strings.Fields(strings.ToLower(d.Query))
	byName := map[string][]*result{}
	for _, res := range results {
		byName[res.Agent] = append(byName[res.Agent], res)
	}
	d.All = len(byName)
	for _, name := range sortedKeys(byName) {
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(strings.ToLower(name), w) }) {
			continue
		}
		d.Rows = append(d.Rows, agentRowOf(name, byName[name]))
	}
	c := &content{title: "Agents", nav: "Agents", live: !p.Ready}
	if err := c.add("form", "agents form", d); err != nil {
		return nil, err
	}
	return c, c.add("agents", "agents", d)
}

func agentRowOf(name string, results []*result) agentRow {
	row := agentRow{Name: name, Link: agentAddress(name), Compare: "/compare?" + url.Values{"a": {agentPrefix + name}}.Encode(), Attempts: len(results)}
	seen := map[string]bool{}
	var sets [][]string
	ranked := 0
	for _, res := range results {
		ranked += count(!res.Unranked())
		seen[res.CompetitionID] = true
		sets = append(sets, res.Conditions)
		row.Valid += count(res.ValidSubmission)
		row.Median += count(res.AboveMedian)
		row.Gold, row.Silver, row.Bronze = row.Gold+count(res.GoldMedal), row.Silver+count(res.SilverMedal), row.Bronze+count(res.BronzeMedal)
		row.Last = max(row.Last, when(res.Time))
	}
	row.Competitions, row.Isolation, row.Class = len(seen), conditions.Described(sets...), conditions.Class(sets...)
	row.Any = fmt.Sprintf("%d (%s%%)", row.Gold+row.Silver+row.Bronze, percent(row.Gold+row.Silver+row.Bronze, ranked))
	return row
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// agentScores is an agent's attempts at one competition.
type agentScores struct {
	page.People
	ID, Link, Title string
	Plot            template.HTML
	OffScale        bool
	Rows            []scoreRow
}

type agentData struct {
	Row          agentRow
	Competitions []agentScores
	Progress     progress
}

// agentPage shows an agent's results at every competition.
func (u *UI) agentPage(r *http.Request) (*content, error) {
	name := r.URL.Query().Get("name")
	all, p := u.results.all()
	all = slices.DeleteFunc(all, func(res *result) bool { return res.Agent != name })
	if len(all) == 0 && p.Ready {
		return nil, fmt.Errorf("%w: no attempt of an agent of that name was graded", errNothing)
	}
	catalog, err := u.Catalog(nil)
	if err != nil {
		return nil, err
	}
	d := agentData{Row: agentRowOf(name, all), Progress: p}
	for _, res := range all {
		i := slices.IndexFunc(d.Competitions, func(s agentScores) bool { return s.ID == res.CompetitionID })
		if i < 0 {
			i = len(d.Competitions)
			t := res.Report
			s := agentScores{ID: t.CompetitionID, Title: t.CompetitionID, Link: "/competitions/" + url.PathEscape(t.CompetitionID),
				People: page.PeopleOf(t)}
			if def, err := catalog.Get(t.CompetitionID); err == nil {
				s.Title, s.Human = def.Title, def.Medals.Scores
			}
			d.Competitions = append(d.Competitions, s)
		}
		d.Competitions[i].Rows = append(d.Competitions[i].Rows, scoreRowOf(res))
	}
	for i := range d.Competitions {
		s := &d.Competitions[i]
		var scores []float64
		for _, res := range all {
			if res.CompetitionID == s.ID && res.ExactScore != nil && !math.IsNaN(float64(*res.ExactScore)) {
				scores = append(scores, float64(*res.ExactScore))
			}
		}
		s.Plot, s.OffScale = page.Distribution(s.People, []page.Row{{Name: name, Scores: scores}})
	}
	c := &content{title: name, nav: "Agents", live: !p.Ready}
	return c, c.add("agent", "agent", d)
}
