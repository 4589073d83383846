package ui

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/ledger"
)

// choice is an option of a form.
type choice struct {
	Value, Text string
	Chosen      bool
}

func choices(chosen string, values ...string) []choice {
	out := []choice{{"", "any", chosen == ""}}
	for _, v := range values {
		out = append(out, choice{v, v, v == chosen})
	}
	return out
}

// pager is the position of a page in a long table.
type pager struct {
	From, To, Total  int
	Before, Next     string
	HasBefore, Later bool
}

// paged returns the part of a table that an address asks for.
func paged(r *http.Request, total, size int) (from, to int, p pager) {
	at, _ := strconv.Atoi(r.URL.Query().Get("page"))
	last := max(0, (total-1)/size)
	at = min(max(at, 0), last)
	from, to = at*size, min(at*size+size, total)
	p = pager{From: min(from+1, total), To: to, Total: total, HasBefore: at > 0, Later: at < last}
	link := func(n int) string {
		q := r.URL.Query()
		q.Del("page")
		if n > 0 {
			q.Set("page", strconv.Itoa(n))
		}
		return (&url.URL{Path: r.URL.Path, RawQuery: q.Encode()}).String()
	}
	p.Before, p.Next = link(at-1), link(at+1)
	return from, to, p
}

// runColumns are those of the list of runs.
var runColumns = []field{{Key: "run", Title: "Run"}, {Key: "state", Title: "State", Kind: ends}, {Key: "reason", Title: "Reason"}, {Key: "pipeline", Title: "Pipeline"},
	{Key: "agents", Title: "Agents"}, {Key: "competitions", Title: "Competitions"}, {Key: "attempts", Title: "Finished", Kind: amounts}, {Key: "medals", Title: "Medals", Kind: amounts},
	{Key: "best", Title: "Best medal rate", Kind: shares}, {Key: "cost", Title: "Cost (USD)", Kind: dollars}, {Key: "started", Title: "Started", Kind: moments}, {Key: "took", Title: "Took", Kind: spells},
	{Key: "isolation", Title: "Isolation", Kind: badges}, {Key: "said", Title: "Tags and note"}, {Key: "variables", Title: "Variables"}, {Key: "id", Title: "ID", Extra: true},
	{Key: "ran", Title: "Steps run", Kind: amounts, Extra: true}, {Key: "cached", Title: "Cached", Kind: amounts, Extra: true}, {Key: "failed", Title: "Failed", Kind: amounts, Extra: true}}

// runsPage lists the runs, newest first.
func (u *UI) runsPage(r *http.Request) (*content, error) {
	ids, err := u.Ledger.IDs()
	if err != nil {
		return nil, err
	}
	if len(ids) > 0 {
		u.models.expect(u.Ledger, ids[0])
	}
	q := r.URL.Query()
	tags := strings.Fields(strings.Join(q["tag"], " "))
	t := &table{Noun: "run", Empty: "Nothing has been applied with this cache yet. mleflow apply PIPELINE.hcl makes a run, and it appears here.", Path: "/runs", Placeholder: "id, name, note, agent, variable", Columns: runColumns, Facets: []string{"state", "agents", "competitions"}}
	c := &content{title: "Runs", nav: "Runs", live: q.Get("page") == "" && !t.filtered(q) && len(tags) == 0}
	if err := c.add("title", "list title", listTitle{Title: "Runs", Progress: progress{Ready: true}}); err != nil {
		return nil, err
	}
	if len(tags) > 0 {
		t.Empty = "No run has these tags."
	}
	if len(ids) > allRuns && !t.arranged(q) && len(tags) == 0 {
		from, to, _ := paged(r, len(ids), gridRows)
		t.Start, t.Total = from, len(ids)
		ids = ids[from:to]
	}
	known := map[string]bool{}
	for _, e := range u.runs.entries(ids) {
		for key, value := range e.Tags {
			known[key+"="+value] = true
		}
		if slices.ContainsFunc(tags, func(tag string) bool { return !tagged(e, tag) }) {
			continue
		}
		t.Lines = append(t.Lines, u.runLine(e))
		c.live = c.live || e.State == ledger.Running
	}
	if given := strings.Join(tags, " "); len(known) > 0 || given != "" {
		known[given] = true
		delete(known, "")
		t.Choosers = []chooser{{"tag", "Tag", choices(given, sortedKeys(known)...)}}
	}
	return c, t.add(c, r)
}

// allRuns is the number of runs up to which all are read to show the first page, so that
// the form can offer their agents and competitions.
const allRuns = 300

// tagged reports whether a run has a tag, with that value if one is named.
func tagged(e ledger.Entry, tag string) bool {
	key, want, exact := strings.Cut(tag, "=")
	value, ok := e.Tags[key]
	return ok && (!exact || value == want)
}

// runLine is a run in the list.
func (u *UI) runLine(e ledger.Entry) line {
	t := u.results.tally(nil, e.ID)
	_, class := page.Verdict(e.State, t.Ended-t.Scored, t.Ended)
	why := strings.TrimPrefix(u.runs.reason(e)+"; "+t.Trouble, "; ")
	cells := []cell{{Text: e.Called(e.ID), Link: runAddress(e.ID)}, {Text: string(e.State), Class: class}, {Text: brief(strings.TrimSuffix(why, "; "))}, {Text: e.PipelineName()}, listed(t.Agents), listed(t.Competitions), nothing, nothing,
		number(t.Best), number(t.Cost), nothing, nothing, isolationCell(t.Isolation), {Text: brief(e.Said())}, {Text: brief(view.GivenVariables(e.Argv))}, {Text: e.ID}, nothing, nothing, nothing}
	if t.Ended > 0 {
		cells[6] = cell{Text: fraction(t.Finished, t.Ended), Value: float64(t.Finished)}
	}
	if t.Medals != "" {
		cells[7] = cell{Text: t.Medals, Value: float64(t.Won)}
	}
	if !e.Started.IsZero() {
		cells[10] = number(float64(e.Started.Unix()))
	}
	switch {
	case e.Finish != nil:
		cells[11] = number(float64(e.Finish.DurationMillis) / 1000)
		cells[16], cells[17], cells[18] = number(float64(e.Finish.Ran)), number(float64(e.Finish.Cached)), number(float64(e.Finish.Failed))
	case e.State == ledger.Running:
		sofar := u.Now().Sub(e.Started).Round(time.Second)
		cells[11] = cell{Text: view.Duration(sofar) + " so far", Value: sofar.Seconds()}
	}
	return line{Cells: cells, Address: e.ID, Also: e.Host + " " + e.Name, Compare: compareAddress(runPrefix + e.ID)}
}

func runAddress(id string) string { return "/runs/" + url.PathEscape(id) }

// stepAddress returns the address of a step's page, for one of its tabs.
func stepAddress(run, address, tab string) string {
	q := url.Values{"address": {address}}
	if tab != "" {
		q.Set("tab", tab)
	}
	return "/step/" + url.PathEscape(run) + "?" + q.Encode()
}
