package ui

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// runRow is a run in the list.
type runRow struct {
	history.Entry
	end   event.RunFinished // zero if it did not end by itself
	tally runTally
	// why is why it did not finish.
	why string
	now time.Time
}

// runColumns are those of the list of runs.
var runColumns = []page.Column[runRow]{
	{Key: "run", Title: "Run", Of: func(r runRow) cell { return cell{Text: r.Called(r.ID), Link: runAddress(r.ID)} }},
	{Key: "state", Title: "State", Kind: page.Ends, Of: func(r runRow) cell {
		_, class := page.Verdict(r.State, r.tally.Ended-r.tally.Scored, r.tally.Ended)
		return cell{Text: string(r.State), Class: class}
	}},
	{Key: "reason", Title: "Reason", Text: func(r runRow) string {
		return brief(strings.TrimSuffix(strings.TrimPrefix(r.why+"; "+r.tally.Trouble, "; "), "; "))
	}},
	{Key: "user", Title: "User", Text: func(r runRow) string { return view.Either(r.OfOthers(), r.User, "") }},
	{Key: "pipeline", Title: "Pipeline", Text: func(r runRow) string { return r.PipelineName() }},
	{Key: "agents", Title: "Agents", Of: func(r runRow) cell { return listedCell(r.tally.Agents) }},
	{Key: "competitions", Title: "Competitions", Of: func(r runRow) cell { return listedCell(r.tally.Competitions) }},
	{Key: "attempts", Title: "Finished", Kind: page.Amounts, Of: func(r runRow) cell {
		return cell{Text: fraction(r.tally.Finished, r.tally.Ended), Value: float64(r.tally.Finished)}.If(r.tally.Ended > 0)
	}},
	{Key: "medals", Title: "Medals", Kind: page.Amounts, Of: func(r runRow) cell {
		return cell{Text: r.tally.Medals, Value: float64(r.tally.Won)}.If(r.tally.Medals != "")
	}},
	{Key: "best", Title: "Best medal rate", Kind: page.Shares, Value: func(r runRow) float64 { return r.tally.Best }},
	{Key: "cost", Title: "Cost (USD)", Kind: page.Dollars, Value: func(r runRow) float64 { return r.tally.Cost }},
	{Key: "started", Title: "Started", Kind: page.Moments, Of: func(r runRow) cell { return momentCell(r.Started).If(!r.Started.IsZero()) }},
	{Key: "took", Title: "Took", Kind: page.Spells, Of: runRow.took},
	{Key: "isolation", Title: "Isolation", Kind: page.Badges, Of: func(r runRow) cell { return isolationCell(r.tally.Isolation) }},
	{Key: "said", Title: "Tags and note", Text: func(r runRow) string { return brief(r.Said()) }},
	{Key: "variables", Title: "Variables", Text: func(r runRow) string { return brief(view.GivenVariables(r.Argv)) }},
	{Key: "id", Title: "ID", Extra: true, Text: func(r runRow) string { return r.ID }},
	{Key: "ran", Title: "Steps run", Kind: page.Amounts, Extra: true, Of: func(r runRow) cell { return page.Count(r.end.Ran).If(r.Finish != nil) }},
	{Key: "cached", Title: "Cached", Kind: page.Amounts, Extra: true, Of: func(r runRow) cell { return page.Count(r.end.Cached).If(r.Finish != nil) }},
	{Key: "failed", Title: "Failed", Kind: page.Amounts, Extra: true, Of: func(r runRow) cell { return page.Count(r.end.Failed).If(r.Finish != nil) }},
}

func (r runRow) took() cell {
	sofar := r.now.Sub(r.Started).Round(time.Second)
	if r.Finish == nil {
		return cell{Text: view.Duration(sofar) + " so far", Value: sofar.Seconds()}.If(r.State == history.Running)
	}
	return cell{Value: float64(r.end.DurationMillis) / 1000}
}

// runsPage lists the runs, newest first.
func (u *UI) runsPage(r *http.Request) (*content, error) {
	ids, err := u.History.IDs()
	if err != nil {
		return nil, err
	}
	if len(ids) > 0 {
		u.models.expect(u.History, ids[0])
	}
	q := r.URL.Query()
	tags := strings.Fields(strings.Join(q["tag"], " "))
	t := &table{Noun: "run", Empty: "Nothing has been applied with this cache yet. mleflow apply PIPELINE.hcl makes a run, and it appears here.", Path: "/runs", Placeholder: "id, name, note, agent, variable", Facets: []string{"state", "agents", "competitions"}}
	c := listContent("Runs", progress{Ready: true})
	c.live = q.Get("page") == "" && !t.filtered(q) && len(tags) == 0
	if len(tags) > 0 {
		t.Empty = "No run has these tags."
	}
	if len(ids) > allRuns && !t.arranged(q) && len(tags) == 0 {
		from, to, _ := paged(r, len(ids), gridRows)
		t.Start, t.Total = from, len(ids)
		ids = ids[from:to]
	}
	known, rows := map[string]bool{}, []runRow(nil)
	for _, e := range u.runs.entries(ids) {
		for key, value := range e.Tags {
			known[key+"="+value] = true
		}
		if slices.ContainsFunc(tags, func(tag string) bool { return !tagged(e, tag) }) {
			continue
		}
		rows = append(rows, runRow{e, *cmp.Or(e.Finish, &event.RunFinished{}), u.results.tally(r.Context(), nil, e.ID), u.runs.reason(e), u.Now()})
		c.live = c.live || e.State == history.Running
	}
	fillTable(t, runColumns, rows, func(r runRow) gridLine {
		return gridLine{Address: r.ID, Also: r.Host + " " + r.Name, Compare: compareAddress(runPrefix + r.ID)}
	})
	if given := strings.Join(tags, " "); len(known) > 0 || given != "" {
		known[given] = true
		delete(known, "")
		t.Choosers = []chooser{{"tag", "Tag", choices(given, view.SortedKeys(known)...)}}
	}
	if t.show(c, r); len(ids) > 0 {
		c.show("old", "missing", "mleflow runs remove --older-than 30d removes old runs with their logs.")
	}
	return c, c.err
}

// allRuns is the number of runs up to which all are read to show the first page, so that
// the form can offer their agents and competitions.
const allRuns = 300

// tagged reports whether a run has a tag, with that value if one is named.
func tagged(e history.Entry, tag string) bool {
	key, want, exact := strings.Cut(tag, "=")
	value, ok := e.Tags[key]
	return ok && (!exact || value == want)
}
