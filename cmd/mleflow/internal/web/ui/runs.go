package ui

import (
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/ledger"
)

// rowsShown is the number of rows on a page of a table.
const rowsShown = 50

// runRow is a run in the list.
type runRow struct {
	ID, Name, Address, State, Class, Pipeline, Started, Took, Variables string
	Ran, Cached, Failed                                                 string
	// Said are its tags and its note.
	Said  string
	Tally runTally
}

// runsData is the page of runs.
type runsData struct {
	Query, State, Tags string
	States             []choice
	Rows               []runRow
	Pages              pager
	All                int
	Filtered           bool
}

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

// runsPage lists the runs, newest first.
func (u *UI) runsPage(r *http.Request) (*content, error) {
	ids, err := u.Ledger.IDs()
	if err != nil {
		return nil, err
	}
	query, state := strings.TrimSpace(r.URL.Query().Get("q")), r.URL.Query().Get("state")
	tags := strings.Fields(strings.Join(r.URL.Query()["tag"], " "))
	d := runsData{Query: query, State: state, Tags: strings.Join(tags, " "), All: len(ids), Filtered: query != "" || state != "" || len(tags) > 0,
		States: choices(state, string(ledger.Running), string(ledger.Finished), string(ledger.Failed), string(ledger.Cancelled), string(ledger.Interrupted), string(ledger.Unreadable))}
	if d.Filtered {
		ids = u.matching(ids, query, state, tags)
	}
	from, to, p := paged(r, len(ids), rowsShown)
	d.Pages = p
	live := false
	for _, e := range u.runs.entries(ids[from:to]) {
		d.Rows = append(d.Rows, u.runRow(e))
		live = live || e.State == ledger.Running
	}
	c := &content{title: "Runs", nav: "Runs", query: query, live: live || from == 0 && !d.Filtered}
	if err := c.add("form", "runs form", d); err != nil {
		return nil, err
	}
	return c, c.add("runs", "runs", d)
}

// matching are the runs that hold every word of a query, in their identifier,
// name, tags, note, pipeline, state, command line or variables, and that have the
// tags, each written KEY=VALUE or KEY.
func (u *UI) matching(ids []string, query, state string, tags []string) []string {
	words := strings.Fields(strings.ToLower(query))
	var out []string
	for i, e := range u.runs.entries(ids) {
		if state != "" && string(e.State) != state || slices.ContainsFunc(tags, func(t string) bool { return !tagged(e, t) }) {
			continue
		}
		text := strings.ToLower(strings.Join(append([]string{e.ID, e.Called(e.ID), e.Said(), e.Pipeline, e.Name, string(e.State), e.Host}, e.Argv...), " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			out = append(out, ids[i])
		}
	}
	return out
}

// tagged reports whether a run has a tag, with that value if one is named.
func tagged(e ledger.Entry, tag string) bool {
	key, want, exact := strings.Cut(tag, "=")
	value, ok := e.Tags[key]
	return ok && (!exact || value == want)
}

func (u *UI) runRow(e ledger.Entry) runRow {
	row := runRow{ID: e.ID, Name: e.Called(e.ID), Said: e.Said(), Address: runAddress(e.ID), Pipeline: "?", Variables: view.GivenVariables(e.Argv), Tally: u.results.tally(e.ID)}
	if e.Pipeline != "" {
		row.Pipeline = filepath.Base(e.Pipeline)
	}
	bad, all := row.Tally.unscored()
	row.State, row.Class = verdict(e.State, bad, all)
	if !e.Started.IsZero() {
		row.Started = when(e.Started)
	}
	switch {
	case e.Finish != nil:
		row.Took = view.Millis(e.Finish.DurationMillis)
		row.Ran, row.Cached, row.Failed = view.Count(int64(e.Finish.Ran)), view.Count(int64(e.Finish.Cached)), view.Count(int64(e.Finish.Failed))
	case e.State == ledger.Running:
		row.Took = view.Duration(u.Now().Sub(e.Started).Round(time.Second)) + " so far"
	}
	return row
}

// when writes a time of the reader's machine for a table.
func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func runAddress(id string) string { return "/runs/" + url.PathEscape(id) }

// stepAddress returns the address of a step's page, for one of its tabs.
func stepAddress(run, address, tab string) string {
	q := url.Values{"address": {address}}
	if tab != "" {
		q.Set("tab", tab)
	}
	return "/step/" + url.PathEscape(run) + "?" + q.Encode()
}
