package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// transcripts remembers the places of the exchanges in the transcripts that were shown
// last.
type transcripts struct {
	mu   sync.Mutex
	refs [2]cache.Ref
	list [2][]transcript.Span
	next int
}

// spans returns the places of a transcript's exchanges.
func (t *transcripts) spans(ref cache.Ref, r *transcript.Reader) ([]transcript.Span, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, known := range t.refs {
		if known == ref && t.list[i] != nil {
			return t.list[i], nil
		}
	}
	spans := []transcript.Span{}
	for s, err := range r.Spans() {
		if err != nil {
			return spans, err
		}
		spans = append(spans, s)
	}
	t.refs[t.next], t.list[t.next] = ref, spans
	t.next = (t.next + 1) % len(t.refs)
	return spans, nil
}

const (
	// turnsShown is the number of exchanges sent at once.
	turnsShown = 100
	// maxReply is the largest response of which a row shows the beginning.
	maxReply = 256 << 10
	// context is the number of exchanges before one that are read to find out what is new
	// in it, and maxContext the size of the largest request among them.
	turnsBefore = 12
	maxContext  = 8 << 20
	// maxSaid is the number of bytes shown of a message.
	maxSaid = 64 << 10
)

// turnRow is an exchange in the list.
type turnRow struct {
	Number, Time, Model, In, Out, Cost, Took, Waited, Status, Text, Link string
	Tools                                                                int
	Bad, Here                                                            bool
}

// said is a message of an exchange.
type said struct {
	Role, Class, Text, Reasoning, Error string
	Calls, Results                      []said
	Name                                string
}

type turnDetail struct {
	Number, Facts string
	Said          []said
	Notes         []string
}

type transcriptData struct {
	Missing    string
	Rows       []turnRow
	Total      int
	From       int
	RowsFrom   string
	Pages      pager
	Detail     *turnDetail
	DetailNote string
}

// transcript lists the exchanges with models and shows one of them.
func (o *one) transcript() error {
	if k := o.running(); k != nil {
		return o.follow(k)
	}
	var d transcriptData
	err := o.withTranscript(func(r *transcript.Reader, spans []transcript.Span, why string) error {
		if d.Missing = why; why != "" {
			return nil
		}
		d.Total = len(spans)
		if d.Total == 0 {
			d.Missing = "The agent asked no model through mleflow's gateway. Agents have transcripts if their block names models (docs/models.md)."
			return nil
		}
		from, to, p := paged(o.r, len(spans), turnsShown)
		d.From, d.Pages = from, p
		shown := o.turn()
		var err error
		if d.Rows, err = o.turns(r, spans, from, to, shown); err != nil {
			return err
		}
		q := url.Values{"address": {o.address}}
		d.RowsFrom = "/turns/" + url.PathEscape(o.sum.ID) + "?" + q.Encode()
		if shown > 0 && shown <= len(spans) {
			d.Detail, err = detail(r, spans, shown-1)
			if err != nil {
				d.DetailNote = "The exchange cannot be read: " + err.Error()
			}
		}
		return nil
	})
	if err != nil {
		d.Missing = "The transcript cannot be read: " + err.Error()
	}
	return o.c.add("transcript", "transcript", d)
}

// turn is the exchange that the address names, 0 if none.
func (o *one) turn() int {
	n, _ := strconv.Atoi(o.r.URL.Query().Get("turn"))
	return n
}

// withTranscript opens the transcript, or explains why there is none.
func (o *one) withTranscript(use func(r *transcript.Reader, spans []transcript.Span, why string) error) error {
	ref, why := o.output("transcript")
	if why != "" {
		return use(nil, nil, why)
	}
	if _, err := tree.Find(o.ctx, o.store, ref, "events.jsonl"); none(err) {
		return use(nil, nil, "")
	}
	r, err := transcript.OpenReader(tree.NewFS(o.ctx, o.store, ref))
	if err != nil {
		return err
	}
	defer r.Close()
	spans, err := o.u.turns.spans(ref, r)
	if err != nil {
		return err
	}
	return use(r, spans, "")
}

// turns are rows of the list. Times count from the first exchange.
func (o *one) turns(r *transcript.Reader, spans []transcript.Span, from, to, shown int) ([]turnRow, error) {
	first, err := r.At(spans[0])
	if err != nil {
		return nil, err
	}
	var rows []turnRow
	for i := from; i < to; i++ {
		if o.ctx.Err() != nil {
			return nil, o.ctx.Err()
		}
		e, err := r.At(spans[i])
		if err != nil {
			return nil, err
		}
		row := rowOf(r, e, first.Time)
		row.Number, row.Here = strconv.Itoa(i+1), i+1 == shown
		q := url.Values{"address": {o.address}, "tab": {"transcript"}, "turn": {row.Number}}
		if p := i / turnsShown; p > 0 {
			q.Set("page", strconv.Itoa(p))
		}
		row.Link = "/step/" + url.PathEscape(o.sum.ID) + "?" + q.Encode()
		rows = append(rows, row)
	}
	return rows, nil
}

func rowOf(r *transcript.Reader, e *transcript.Event, start time.Time) turnRow {
	row := turnRow{Time: view.Duration(max(0, e.Time.Sub(start)).Round(time.Second)), Model: cmp.Or(e.Asked, string(e.Operation), e.Path), Took: view.Duration(seconds(e.Seconds)), Bad: e.Status != 200}
	if e.Status != 200 {
		row.Status = strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Status, e.Refused, e.Failed))
	}
	if u := e.Usage; u != nil {
		row.In, row.Out = view.Count(u.Input), view.Count(u.Output)
	}
	if e.Cost > 0 {
		row.Cost = view.Dollars(e.Cost)
	}
	if e.Waited >= 1 {
		row.Waited = view.Duration(seconds(e.Waited))
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

// oneLine is the beginning of a text on a line.
func oneLine(text string, n int) string {
	if len(text) > 8*n {
		text = text[:8*n]
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " "))
	if len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return string(runes)
}

// detail is an exchange with its new messages. Only a limited number of exchanges before
// it are read.
func detail(r *transcript.Reader, spans []transcript.Span, at int) (*turnDetail, error) {
	var events []*transcript.Event
	for i := max(0, at-turnsBefore); i <= at; i++ {
		e, err := r.At(spans[i])
		if err != nil {
			return nil, err
		}
		if i == at || e.Request.Size() <= maxContext && e.Response.Size() <= maxContext {
			events = append(events, e)
		}
	}
	t, err := r.Last(events)
	if err != nil {
		return nil, err
	}
	d := &turnDetail{Number: strconv.Itoa(at + 1), Facts: (&view.Transcript{}).Figures(t)}
	for _, m := range t.Said {
		d.Said = append(d.Said, saidOf(m))
	}
	if !t.Reply.IsZero() {
		d.Said = append(d.Said, saidOf(t.Reply))
	}
	for _, n := range []string{string(t.Refused), t.Failed, t.Diverged} {
		if n != "" {
			d.Notes = append(d.Notes, n)
		}
	}
	if at > turnsBefore {
		d.Notes = append(d.Notes, fmt.Sprintf("What is new was told from the %d exchanges before; mleflow logs --transcript reads all.", turnsBefore))
	}
	return d, nil
}

func saidOf(m message.Message) said {
	s := said{Role: m.Role, Class: m.Role, Text: bounded([]byte(m.Text), maxSaid), Reasoning: bounded([]byte(m.Reasoning), maxSaid), Error: bounded([]byte(m.Error), maxSaid)}
	if s.Class != "assistant" && s.Class != "tool" && s.Class != "system" {
		s.Class = "user"
	}
	for _, c := range m.Calls {
		s.Calls = append(s.Calls, said{Name: c.Name, Text: bounded([]byte(c.Arguments), maxSaid)})
	}
	for _, r := range m.Results {
		s.Results = append(s.Results, said{Name: r.Name, Text: bounded([]byte(r.Text), maxSaid)})
	}
	return s
}

// turnRows answers with rows of a transcript, or one exchange, as a part of a page. The
// script requests them while the list is scrolled.
func (u *UI) turnRows(w http.ResponseWriter, r *http.Request) {
	text, err := u.turnPart(r)
	if err != nil {
		http.Error(w, "The transcript cannot be read.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"html": text}) // the reader may be gone
}

func (u *UI) turnPart(r *http.Request) (string, error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return "", err
	}
	address := r.URL.Query().Get("address")
	o := &one{u: u, ctx: r.Context(), r: r, m: m, sum: m.sums.Summary(), address: address, step: m.sums.Step(address)}
	err = u.Results(m.past, func(store Results) error {
		o.store = store
		o.open()
		return nil
	})
	unlock()
	if err != nil {
		return "", err
	}
	var text string
	err = u.Results(m.past, func(store Results) error {
		o.store = store
		return o.withTranscript(func(reader *transcript.Reader, spans []transcript.Span, why string) error {
			if why != "" || len(spans) == 0 {
				return errNothing
			}
			text, err = o.part(reader, spans)
			return err
		})
	})
	return text, err
}

func (o *one) part(r *transcript.Reader, spans []transcript.Span) (string, error) {
	q := o.r.URL.Query()
	if turn, err := strconv.Atoi(q.Get("turn")); err == nil && turn > 0 && turn <= len(spans) {
		d, err := detail(r, spans, turn-1)
		if err != nil {
			return "", err
		}
		text, err := fill("turn detail", d)
		return string(page.Clean([]byte(text))), err
	}
	from, _ := strconv.Atoi(q.Get("from"))
	from = min(max(from, 0), len(spans)-1)
	shown, _ := strconv.Atoi(q.Get("shown"))
	rows, err := o.turns(r, spans, from, min(from+turnsShown, len(spans)), shown)
	if err != nil {
		return "", err
	}
	text, err := fill("turn rows", rows)
	return string(page.Clean([]byte(text))), err
}
