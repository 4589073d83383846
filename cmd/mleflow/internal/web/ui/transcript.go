package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

const (
	// turnsShown is the number of exchanges of a page.
	turnsShown = 50
	// maxReply is the largest response of which a row shows the beginning.
	maxReply = 256 << 10
	// maxInline bounds the bodies that a page reads to show its turns whole, and maxPage
	// the text that it shows of them. Others are fetched when they are opened.
	maxInline = 8 << 20
	maxPage   = 128 << 10
	// maxFailed is the number of failed exchanges that a page links to, liveTurns that of
	// the listed exchanges of a running attempt.
	maxFailed = 30
	liveTurns = 200
)

// turnRow is an exchange in the list.
type turnRow struct {
	Number, Time, Model, In, Out, Cost, Took, Waited, Status, Text, Link string
	Tools                                                                int
	Bad, Open                                                            bool
	// Body is the exchange itself, empty if it is fetched when it is opened.
	Body template.HTML
}

// transcriptData is the page of a transcript.
type transcriptData struct {
	Missing string
	Facts   []page.Fact
	Rows    []turnRow
	Total   int
	// Part is the address of exchanges as parts of a page.
	Part   string
	Pages  pager
	Failed []page.Link
	// Detail is the exchange that the address names, of a transcript that grows.
	Detail          template.HTML
	Action, Address string
	Find            foundTurns
}

// addTranscript adds the exchanges with models.
func addTranscript(c *content, r *http.Request, a *shownAttempt) {
	if a.growing == nil {
		c.show("transcript", "transcript", exchanges(r.Context(), a, r.URL))
		return
	}
	d := liveExchanges(r.Context(), a, turnOf(r.URL.Query()))
	c.show("transcript", "transcript live", d)
	c.show("turn", "turn live", d)
}

// exchanges is a page of the list of exchanges, or what a search finds in them.
func exchanges(ctx context.Context, a *shownAttempt, address *url.URL) transcriptData {
	d := transcriptData{Action: a.action(), Address: a.address}
	t, missing, err := openTranscript(ctx, a)
	d.Missing = missing
	if t != nil {
		defer t.Close()
		err = d.fill(ctx, a, t, address)
	} else if missing == "" {
		d.Missing = "The agent asked no model through mleflow's gateway. Agents have transcripts if their block names models (docs/models.md)."
	}
	if err != nil {
		d.Missing = "The transcript cannot be read: " + err.Error()
	}
	return d
}

func (d *transcriptData) fill(ctx context.Context, a *shownAttempt, t *recording, address *url.URL) (err error) {
	d.Total, d.Facts = len(t.turns), t.facts()
	d.Failed = lists.Of(t.failed[:min(maxFailed, len(t.failed))], func(i int) page.Link {
		return page.Link{Text: strconv.Itoa(i + 1), Address: turnAddress(a, i+1)}
	})
	d.Part = "/turns/" + url.PathEscape(a.run.ID) + "?" + url.Values{"address": {a.address}}.Encode()
	if d.Find = findTurns(ctx, a, t, address); d.Find.Asked {
		return nil
	}
	at := min(max(turnOf(address.Query()), 1), d.Total)
	from := (at - 1) / turnsShown * turnsShown
	d.Pages = pagerOf(from, min(from+turnsShown, d.Total), d.Total, turnsShown, func(row int) string { return turnAddress(a, row+1) })
	if d.Rows, err = rowsOf(ctx, a, t, from, d.Pages.To); err != nil {
		return err
	}
	d.Rows[at-1-from].Open = true
	return addBodies(ctx, a, d.Rows, t, from)
}

// liveExchanges lists the last exchanges of an attempt that runs, as far as they are
// written.
func liveExchanges(ctx context.Context, a *shownAttempt, turn int) (d transcriptData) {
	t, missing, err := openTranscript(ctx, a)
	if d.Missing = cmp.Or(missing, "The agent asked no model so far. Exchanges appear here as they end."); t != nil {
		defer t.Close()
		d.Missing, d.Total, d.Facts = "", len(t.turns), t.facts()
		d.Rows, err = rowsOf(ctx, a, t, max(0, d.Total-liveTurns), d.Total)
		if err == nil && turn > 0 && turn <= d.Total {
			d.Detail, err = bodyOf(ctx, a, t, turn)
		}
	}
	if err != nil {
		d.Missing = "The transcript cannot be read yet: " + err.Error()
	}
	return d
}

// turnPart answers with one exchange, as a part of a page. The script requests it when
// a turn is opened.
func (u *UI) turnPart(w http.ResponseWriter, r *http.Request) {
	body, err := u.exchangePart(r)
	if err != nil {
		http.Error(w, "The transcript cannot be read.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"html": u.below.Replace(string(page.Clean([]byte(body))))}) // the reader may be gone
}

func (u *UI) exchangePart(r *http.Request) (body template.HTML, err error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return "", err
	}
	unlock = sync.OnceFunc(unlock)
	defer unlock()
	err = u.Results(m.past, func(store Results) error {
		a := u.openAttempt(m, openStep(r.Context(), u.Source, m, store, r.URL.Query().Get("address")))
		unlock() // reading an exchange may take long
		t, _, err := openTranscript(r.Context(), a)
		if err != nil || t == nil {
			return errors.Join(err, errNothing)
		}
		defer t.Close()
		n := turnOf(r.URL.Query())
		if n < 1 || n > len(t.turns) {
			return errNothing
		}
		body, err = bodyOf(r.Context(), a, t, n)
		return err
	})
	return body, err
}

// turnOf is the exchange that an address names, 0 if none.
func turnOf(q url.Values) int {
	n, _ := strconv.Atoi(q.Get("turn"))
	return n
}

// rowsOf are rows of the list. Times count from the first exchange.
func rowsOf(ctx context.Context, a *shownAttempt, t *recording, from, to int) ([]turnRow, error) {
	var rows []turnRow
	for i := from; i < to; i++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, err := t.At(t.turns[i].Span)
		if err != nil {
			return nil, err
		}
		row := rowOf(t.Reader, e, t.start)
		row.Number, row.Link = strconv.Itoa(i+1), turnAddress(a, i+1)
		rows = append(rows, row)
	}
	return rows, nil
}

func rowOf(r *transcript.Reader, e *transcript.Event, start time.Time) turnRow {
	row := turnRow{Time: view.Duration(max(0, e.Time.Sub(start)).Round(time.Second)), Model: cmp.Or(e.Asked, string(e.Operation), e.Path), Took: view.Duration(view.Seconds(e.Seconds)), Bad: e.Status != 200}
	if e.Status != 200 {
		row.Status = strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Status, e.Refused, e.Failed))
	}
	if u := e.Usage; u != nil {
		row.In, row.Out = view.Count(u.Input), view.Count(u.Output)
	}
	if e.Cost > 0 {
		if row.Cost = view.Dollars(e.Cost); !e.Reported {
			row.Cost += " estimated"
		}
	}
	if e.Waited >= 1 {
		row.Waited = view.Duration(view.Seconds(e.Waited))
	}
	if e.Response.Size() > maxReply {
		row.Text = "(" + view.Bytes(e.Response.Size()) + ")"
		return row
	}
	body, err := r.Response(e)
	if err != nil {
		return row
	}
	m := message.Response(e.Provider, e.Operation, body)
	row.Tools = len(m.Calls)
	row.Text = m.Text
	if row.Text == "" && len(m.Calls) > 0 {
		row.Text = m.Calls[0].Name + " " + m.Calls[0].Arguments
	}
	row.Text = oneLine(cmp.Or(row.Text, m.Error, m.Reasoning), 160)
	return row
}

// addBodies adds the bodies of the turns of a page: of the open one, and of all if they are
// small.
func addBodies(ctx context.Context, a *shownAttempt, rows []turnRow, t *recording, from int) error {
	first, n := slices.IndexFunc(rows, func(row turnRow) bool { return row.Open }), 1
	if t.small(from, from+len(rows)) {
		first, n = 0, len(rows)
	}
	bodies, err := bodiesOf(ctx, a, t, from+first, from+first+n)
	if err != nil {
		return err
	}
	shown := 0
	for i, body := range bodies {
		if row := &rows[first+i]; row.Open || shown < maxPage {
			row.Body = body
			shown += len(body)
		}
	}
	return nil
}

// small reports whether all exchanges of a range are read in no time. The last request
// repeats what the others said.
func (t *recording) small(from, to int) bool {
	first, err := t.At(t.turns[from].Span)
	if err != nil {
		return false
	}
	last, err := t.At(t.turns[to-1].Span)
	return err == nil && endOf(last.Response)-endOf(first.Response) < maxInline && last.Request.Size()*int64(to-from) < 2*maxInline
}

func (all *outline) facts() []page.Fact {
	facts := page.Facts{{Name: "exchanges", Value: view.Count(int64(len(all.turns)))}}
	facts.Count("failed exchanges", int64(len(all.failed)), "bad")
	if all.input+all.output > 0 {
		facts = append(facts, page.Fact{Name: "tokens in", Value: view.Count(all.input)}, page.Fact{Name: "tokens out", Value: view.Count(all.output)})
	}
	facts.Add("cost", view.When(all.cost > 0, view.Dollars(all.cost)), "")
	return facts
}
