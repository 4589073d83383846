package ui

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// agentRow is an agent in the list.
type agentRow struct {
	Name, Link, Compare, Isolation, Class                       string
	Attempts, Competitions, Valid, Median, Gold, Silver, Bronze int
	Any                                                         string
	// Share is that of attempts with a medal, in percent, and At the time of the last run.
	Share float64
	At    time.Time
}

// agentColumns are those of the list of agents.
var agentColumns = []field{{Key: "agent", Title: "Agent"}, {Key: "attempts", Title: "Attempts", Kind: amounts}, {Key: "competitions", Title: "Competitions", Kind: amounts},
	{Key: "medals", Title: "Any medal", Kind: shares}, {Key: "gold", Title: "Gold", Kind: amounts}, {Key: "silver", Title: "Silver", Kind: amounts}, {Key: "bronze", Title: "Bronze", Kind: amounts},
	{Key: "median", Title: "Above median", Kind: amounts}, {Key: "valid", Title: "Valid", Kind: amounts}, {Key: "isolation", Title: "Isolation", Kind: badges}, {Key: "class", Title: "Class", Extra: true},
	{Key: "last", Title: "Last run", Kind: moments}}

// agentsPage lists the agents.
func (u *UI) agentsPage(r *http.Request) (*content, error) {
	results, p := u.results.all()
	byName := map[string][]*result{}
	for _, res := range results {
		byName[res.Agent] = append(byName[res.Agent], res)
	}
	t := &table{Noun: "agent", Empty: "No attempt of an agent was graded with this cache.", Path: "/agents", Placeholder: "name", Columns: agentColumns, Facets: []string{"isolation"}}
	for _, name := range sortedKeys(byName) {
		t.Lines = append(t.Lines, agentRowOf(name, byName[name]).line())
	}
	c := &content{title: "Agents", nav: "Agents", live: !p.Ready}
	if err := c.add("title", "list title", listTitle{"Agents", p}); err != nil {
		return nil, err
	}
	if err := t.add(c, r); err != nil {
		return nil, err
	}
	return c, c.add("note", "agents note", nil)
}

func (row agentRow) line() line {
	cells := []cell{{Text: row.Name, Link: row.Link}, number(float64(row.Attempts)), number(float64(row.Competitions)), {Text: row.Any, Value: row.Share}, number(float64(row.Gold)), number(float64(row.Silver)),
		number(float64(row.Bronze)), number(float64(row.Median)), number(float64(row.Valid)), isolationCell(row.Isolation), {Text: row.Class}, number(float64(row.At.Unix()))}
	return line{Cells: cells, Compare: row.Compare}
}

func agentRowOf(name string, results []*result) agentRow {
	row := agentRow{Name: name, Link: agentAddress(name), Compare: compareAddress(agentPrefix + name), Attempts: len(results)}
	seen := map[string]bool{}
	var sets [][]string
	ranked := 0
	for _, res := range results {
		ranked += board.Count(!res.Unranked())
		seen[res.CompetitionID] = true
		sets = append(sets, res.Conditions)
		row.Valid += board.Count(res.ValidSubmission)
		row.Median += board.Count(res.AboveMedian)
		row.Gold, row.Silver, row.Bronze = row.Gold+board.Count(res.GoldMedal), row.Silver+board.Count(res.SilverMedal), row.Bronze+board.Count(res.BronzeMedal)
		if res.Time.After(row.At) {
			row.At = res.Time
		}
	}
	row.Competitions, row.Isolation, row.Class = len(seen), conditions.Described(sets...), conditions.Class(sets...)
	row.Share = 100 * float64(row.Gold+row.Silver+row.Bronze) / float64(max(ranked, 1))
	row.Any = fmt.Sprintf("%d (%s%%)", row.Gold+row.Silver+row.Bronze, percent(row.Gold+row.Silver+row.Bronze, ranked))
	return row
}

// agentScores is an agent's attempts at one competition.
type agentScores struct {
	page.People
	ID, Link, Title string
	Plot            template.HTML
	OffScale        bool
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
	d := agentData{Row: agentRowOf(name, all), Progress: p}
	for _, res := range all {
		if !slices.ContainsFunc(d.Competitions, func(s agentScores) bool { return s.ID == res.CompetitionID }) {
			t := res.Report
			s := agentScores{ID: t.CompetitionID, Title: t.CompetitionID, Link: "/competitions/" + url.PathEscape(t.CompetitionID),
				People: page.PeopleOf(t)}
			if def, err := u.definition(t.CompetitionID, []*result{res}); err == nil {
				s.Title, s.Human = def.Title, def.Medals.Scores
			}
			d.Competitions = append(d.Competitions, s)
		}
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
	if err := c.add("agent", "agent", d); err != nil {
		return nil, err
	}
	t := resultsTable("/agent", all, "competition", "outcome", "medal")
	t.Keep = []string{"name"}
	if err := t.add(c, r); err != nil {
		return nil, err
	}
	return c, c.add("plots", "agent plots", d)
}
