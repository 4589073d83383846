package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
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
	now, _ := u.results.now()
	agents, ids := map[string]int{}, map[string]int{}
	all := "?" + url.Values{"q": {text}}.Encode()
	attempts := hits{Kind: "attempt", All: "/attempts" + all}
	for _, a := range now.graded { // the pages of agents and competitions list these
		agents[a.Agent]++
		ids[a.Competition()]++
	}
	for _, a := range now.all {
		end, _ := a.Ended()
		note := strings.Join(strings.Fields(end+" "+results.Medal(a.Report)+" "+brief(a.Reason())), " ")
		if name := a.Agent + " · " + rest(a); q.in(name, note, a.Address, ledger.Nickname(a.RunID)) {
			attempts.add(most, name, note, attemptAddress(a))
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
			found.add(most, name, view.Plural(agents[name], "attempt"), agentAddress(name, ""))
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
	return []string{e.ID, e.Called(e.ID), e.Said(), e.PipelineName(), e.Name, string(e.State), e.Host, view.GivenVariables(e.Argv)}
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
	// Read is the number of logs that were read, Gone that of attempts whose own logs are
	// not in the cache, Stopped why not all were read.
	Read, Gone int
	Stopped    string
	q          query
	left       int64
	seen       map[string]bool // the actions whose agents' logs were read
}

// inLogs searches the logs of attempts, of mleflow and of the agents, the newest run first.
func (u *UI) inLogs(ctx context.Context, q query) *logged {
	found := &logged{hits: hits{Kind: "line"}, q: q, left: searchBytes, seen: map[string]bool{}}
	ids, err := u.Ledger.IDs()
	if err != nil {
		return found
	}
	ctx, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	err = u.Results(nil, func(c Results) error {
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
					return nil
				}
				found.attempt(ctx, c, past, e)
			}
		}
		return nil
	})
	if err != nil {
		found.Stopped = "because the cache cannot be read"
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

// attempt searches the logs of an attempt for the first line with the words: the step's in
// the run that executed it, then what the agent left.
func (l *logged) attempt(ctx context.Context, c Results, past *ledger.Past, e event.StepFinished) {
	who, at := page.Name(e.Address), stepAddress(past.Info.ID, e.Address, "logs")
	if e.MadeIn == "" || e.MadeIn == past.Info.ID {
		if r, err := past.OpenLog(e.Address, max(e.LastTry, 1)); err == nil && l.read(ctx, r, who, at+"&step=1") {
			return
		}
	}
	action, err := digest.ParseActionID(e.Action)
	if err != nil || l.seen[e.Action] {
		return
	}
	l.seen[e.Action] = true
	rec, err := c.Lookup(ctx, action)
	if err == nil {
		err = walk(ctx, c, rec.Outputs["logs"].Ref, "", func(name string, f tree.Entry) error {
			r, err := c.Open(ctx, f.ID)
			if err == nil && (l.read(ctx, r, who+" · "+name, at+"&file="+escaped(name)) || l.stopped(ctx)) {
				err = errEnough
			}
			return err
		})
	}
	if none(err) {
		l.Gone++
	}
}

// read searches a log for its first line with the words, and closes it.
func (l *logged) read(ctx context.Context, r io.ReadCloser, who, page string) (found bool) {
	defer r.Close()
	l.Read++
	lines := bufio.NewReaderSize(io.LimitReader(r, l.left), 64<<10)
	if begin, _ := lines.Peek(8 << 10); binary(begin) {
		return false
	}
	for n := 1; ctx.Err() == nil; {
		part, err := lines.ReadSlice('\n') // of a longer line, each part is a line
		l.left -= int64(len(part))
		if l.q.in(string(part)) {
			l.add(searchLines, brief(string(part)), who, fmt.Sprintf("%s&line=%d#L%d", page, n, n))
			return true
		}
		switch err {
		case nil:
			n++
		case bufio.ErrBufferFull:
		default:
			return false
		}
	}
	return false
}

// searchData is the page of a search.
type searchData struct {
	Query string
	Named []hits
	Logs  *logged
	None  bool
}

// searchPage finds what a text names, and lines of logs that have it.
func (u *UI) searchPage(r *http.Request) (*content, error) {
	d := searchData{Query: strings.TrimSpace(r.URL.Query().Get("q")), Logs: &logged{}}
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
