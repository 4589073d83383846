package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

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
	c.show("search", "search", d)
	return c, c.err
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
	q          searchWords
	left       int64
	seen       map[string]bool // the actions whose agents' logs were read
}

// inLogs searches the logs of attempts, of mleflow and of the agents, the newest run first.
func (u *UI) inLogs(ctx context.Context, q searchWords) *logged {
	found := &logged{hits: hits{Kind: "line"}, q: q, left: searchBytes, seen: map[string]bool{}}
	ids, err := u.History.IDs()
	if err != nil {
		return found
	}
	ctx, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	err = u.Results(nil, func(c Results) error {
		for _, id := range ids {
			past, err := u.History.Open(id)
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

// attempt searches the logs of an attempt for the first line with the words: the step's in
// the run that executed it, then what the agent left.
func (l *logged) attempt(ctx context.Context, c Results, past *history.Past, e event.StepFinished) {
	who, at := page.Name(e.Address), stepAddress(past.Info.ID, e.Address, "logs")
	if e.MadeIn == "" || e.MadeIn == past.Info.ID {
		if r, err := past.OpenLog(e.Address, max(e.LastTry, 1)); err == nil && l.read(ctx, r, who, at+"&step=1") {
			return
		}
	}
	if e.Action == "" || l.seen[e.Action] {
		return
	}
	l.seen[e.Action] = true
	rec, err := outputs.Lookup(ctx, c, e.Action)
	if err == nil {
		err = tree.Walk(ctx, c, rec.Outputs["logs"].Ref, func(name string, f tree.Entry) error {
			if f.IsDir() {
				return nil
			}
			r, err := c.Open(ctx, f.ID)
			if err == nil && (l.read(ctx, r, who+" · "+name, at+"&file="+escaped(name)) || l.stopped(ctx)) {
				err = fs.SkipAll
			}
			return err
		})
	}
	if none(err) {
		l.Gone++
	}
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
			l.find(nil, searchLines, hit{Text: string(part), Note: who, Link: fmt.Sprintf("%s&line=%d#L%d", page, n, n)})
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

// named finds agents, competitions, runs and attempts by what they are called and by the
// reasons of attempts, at most so many of each.
func (u *UI) named(text string, most int) []hits {
	q, found := queryOf(text), make([]hits, 4)
	for i, kind := range []string{"agent", "competition", "run", "attempt"} {
		found[i] = hits{Kind: kind, All: "/" + kind + "s?" + url.Values{"q": {text}}.Encode()}
	}
	now, _ := u.results.now()
	agents, tried := lists.By(now.graded, agentOf), byCompetition(now.graded) // whose pages list them
	for _, name := range view.SortedKeys(agents) {
		found[0].find(q, most, hit{Text: name, Note: view.Plural(len(agents[name]), "attempt"), Link: agentAddress(name, "")}, name)
	}
	if catalog, err := u.Catalog(nil); err == nil {
		for _, id := range slices.SortedFunc(slices.Values(knownCompetitions(catalog, tried)), board.CompareNames) {
			title := id
			if def, err := catalog.Get(id); err == nil {
				title = def.Title
			}
			found[1].find(q, most, hit{Text: title, Note: id, Link: competitionAddress(id)}, id, title)
		}
	}
	if ids, err := u.History.IDs(); err == nil {
		for _, e := range u.runs.entries(ids) {
			note := strings.TrimSpace(e.PipelineName() + " " + string(e.State) + " " + e.Said())
			found[2].find(q, most, hit{Text: e.Called(e.ID), Note: note, Link: runAddress(e.ID)}, e.ID, e.Called(e.ID), e.Said(), e.PipelineName(), e.Name, string(e.State), e.Host, view.GivenVariables(e.Argv))
		}
	}
	for _, a := range now.all {
		end, _ := a.Ended()
		name, note := a.Agent+" · "+nameInAgent(a), strings.Join(strings.Fields(end+" "+results.Medal(a.Report)+" "+brief(a.Reason())), " ")
		found[3].find(q, most, hit{Text: name, Note: note, Link: attemptAddress(a)}, name, note, a.Address, history.Nickname(a.RunID))
	}
	return found
}

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

// find adds what has all words in one of its texts.
func (h *hits) find(q searchWords, most int, found hit, texts ...string) {
	if !q.in(texts...) {
		return
	}
	if h.Total++; len(h.First) < most {
		h.First = append(h.First, hit{h.Kind, brief(found.Text), brief(found.Note), found.Link})
	}
}
