package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// hit is what a search finds.
type hit struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
	Link string `json:"link"`
}

// hits are the finds of one kind, the first of a number of them. All leads to the list
// that shows the rest.
type hits struct {
	Kind  string
	First []hit
	Total int
	All   string
}

func (h *hits) add(most int, text, note, link string) {
	if h.Total++; len(h.First) < most {
		h.First = append(h.First, hit{h.Kind, brief(text), brief(note), link})
	}
}

// query are the words of a search; something holds them if one text has them all.
type query []string

func queryOf(text string) query { return strings.Fields(strings.ToLower(text)) }

func (q query) in(parts ...string) bool {
	text := strings.ToLower(strings.Join(parts, " "))
	return !slices.ContainsFunc(q, func(w string) bool { return !strings.Contains(text, w) })
}

// named finds agents, competitions, runs and attempts by what they are called and by the
// reasons of attempts, at most so many of each.
func (u *UI) named(text string, most int) []hits {
	q := queryOf(text)
	results, _ := u.results.attempts()
	agents, ids := map[string]int{}, map[string]int{}
	all := "?" + url.Values{"q": {text}}.Encode()
	attempts := hits{Kind: "attempt", All: "/attempts" + all}
	for _, r := range results {
		if r.status == "" { // their pages list what was graded
			agents[r.Agent]++
			ids[r.CompetitionID]++
		}
		if l := r.line(); l.says(q) {
			note := strings.Join(strings.Fields(l.Cells[1].Text+" "+strings.Trim(l.Cells[3].Text, "–")+" "+l.Cells[5].Text), " ")
			attempts.add(most, r.Agent+" · "+r.identity().rest(), note, l.Cells[0].Link)
		}
	}
	out := []hits{foundAgents(q, agents, most), u.foundCompetitions(q, ids, most), u.foundRuns(q, most), attempts}
	for i := range out {
		if out[i].All == "" {
			out[i].All = "/" + out[i].Kind + "s" + all
		}
	}
	return out
}

func foundAgents(q query, agents map[string]int, most int) hits {
	found := hits{Kind: "agent"}
	for _, name := range sortedKeys(agents) {
		if q.in(name) {
			found.add(most, name, view.Plural(agents[name], "attempt"), agentAddress(name))
		}
	}
	return found
}

func (u *UI) foundCompetitions(q query, tried map[string]int, most int) hits {
	found := hits{Kind: "competition"}
	catalog, err := u.Catalog(nil)
	if err != nil {
		return found
	}
	titles := map[string]string{}
	for id := range tried {
		titles[id] = id
	}
	for _, id := range catalog.IDs() {
		titles[id] = id
		if def, err := catalog.Get(id); err == nil {
			titles[id] = def.Title
		}
	}
	for _, id := range sortedKeys(titles) {
		if q.in(id, titles[id]) {
			found.add(most, titles[id], id, "/competitions/"+url.PathEscape(id))
		}
	}
	return found
}

func (u *UI) foundRuns(q query, most int) hits {
	found := hits{Kind: "run"}
	ids, err := u.Ledger.IDs()
	if err != nil {
		return found
	}
	for _, e := range u.runs.entries(ids) {
		if l := runText(e); q.in(l...) {
			found.add(most, e.Called(e.ID), strings.TrimSpace(l[3]+" "+string(e.State)+" "+e.Said()), runAddress(e.ID))
		}
	}
	return found
}

// runText is what a run can be found by.
func runText(e ledger.Entry) []string {
	return []string{e.ID, e.Called(e.ID), e.Said(), pipelineName(e), e.Name, string(e.State), e.Host, view.GivenVariables(e.Argv)}
}

// The bounds of a search of logs: how long it takes, how much it reads and how many
// lines it finds.
const (
	searchTime  = 2 * time.Second
	searchBytes = 256 << 20
	searchLines = 50
)

// logged are the lines of logs that hold all words.
type logged struct {
	hits
	// Read is the number of logs that were read, Stopped why not all were.
	Read    int
	Stopped string
	left    int64
}

// inLogs searches the logs of attempts, the newest run first.
func (u *UI) inLogs(ctx context.Context, q query) logged {
	found := logged{hits: hits{Kind: "line"}, left: searchBytes}
	ids, err := u.Ledger.IDs()
	if err != nil {
		return found
	}
	ctx, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	for _, id := range ids {
		past, err := u.Ledger.Open(id)
		if err != nil {
			continue
		}
		for e, err := range past.Finished(conditions.AttemptKind) {
			if err != nil {
				break
			}
			if found.stopped(ctx) {
				return found
			}
			if e.MadeIn == "" || e.MadeIn == id {
				found.read(past, e, q)
			}
		}
	}
	return found
}

// stopped reports whether a bound is reached.
func (l *logged) stopped(ctx context.Context) bool {
	switch {
	case ctx.Err() != nil:
		l.Stopped = "after " + view.Duration(searchTime)
	case l.left <= 0:
		l.Stopped = "after " + view.Bytes(searchBytes)
	case l.Total >= searchLines:
		l.Stopped = "at " + view.Plural(searchLines, "line")
	}
	return l.Stopped != ""
}

// read searches the log of an attempt for its first line with the words.
func (l *logged) read(past *ledger.Past, e event.StepFinished, q query) {
	r, err := past.OpenLog(e.Address, max(e.Attempts, 1))
	if err != nil {
		return
	}
	defer r.Close()
	l.Read++
	lines := bufio.NewReaderSize(io.LimitReader(r, l.left), 64<<10)
	for {
		part, err := lines.ReadSlice('\n') // of a longer line, each part is a line
		l.left -= int64(len(part))
		if q.in(string(part)) {
			i := identified(keyOf(e.Address))
			l.add(searchLines, brief(string(part)), strings.TrimSuffix(i.Agent+" · "+i.rest(), " · "), stepAddress(past.Info.ID, e.Address, "logs"))
			return
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// searchData is the page of a search.
type searchData struct {
	Query string
	Named []hits
	Logs  logged
	None  bool
}

// searchPage finds what a text names, and lines of logs that have it.
func (u *UI) searchPage(r *http.Request) (*content, error) {
	d := searchData{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	if len(d.Query) > 1 {
		d.Named, d.Logs = u.named(d.Query, 12), u.inLogs(r.Context(), queryOf(d.Query))
	}
	d.None = d.Logs.Total == 0 && !slices.ContainsFunc(d.Named, func(h hits) bool { return h.Total > 0 })
	c := &content{title: "Search", query: d.Query}
	return c, c.add("search", "search", d)
}

// find answers the palette: the first names that a text finds.
func (u *UI) find(w http.ResponseWriter, r *http.Request) {
	all := []hit{}
	if text := strings.TrimSpace(r.URL.Query().Get("q")); text != "" {
		for _, h := range u.named(text, 6) {
			all = append(all, h.First...)
		}
	}
	text, _ := json.Marshal(all) // strings only
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(page.Clean(text))
}
