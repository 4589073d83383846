package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
	Find            found
}

// maxFailed is the number of failed exchanges that a page links to.
const maxFailed = 30

// transcript lists the exchanges with models.
func (o *one) transcript() error {
	if k := o.running(); k != nil {
		return o.follow(k)
	}
	d := transcriptData{Action: "/step/" + url.PathEscape(o.sum.ID), Address: o.address}
	err := o.withTranscript(func(r *transcript.Reader, all *outline, why string) error {
		if d.Missing = why; why != "" {
			return nil
		}
		d.Total = len(all.turns)
		if d.Total == 0 {
			d.Missing = "The agent asked no model through mleflow's gateway. Agents have transcripts if their block names models (docs/models.md)."
			return nil
		}
		return o.listTurns(&d, r, all)
	})
	if err != nil {
		d.Missing = "The transcript cannot be read: " + err.Error()
	}
	return o.c.add("transcript", "transcript", d)
}

// listTurns fills in a page of the list.
func (o *one) listTurns(d *transcriptData, r *transcript.Reader, all *outline) (err error) {
	d.Facts = all.facts()
	for _, i := range all.failed[:min(maxFailed, len(all.failed))] {
		d.Failed = append(d.Failed, page.Link{Text: strconv.Itoa(i + 1), Address: o.turnAddress(i + 1)})
	}
	d.Part = "/turns/" + url.PathEscape(o.sum.ID) + "?" + url.Values{"address": {o.address}}.Encode()
	if d.Find = o.find(r, all); d.Find.Asked {
		return nil
	}
	at := min(max(o.turn(), 1), d.Total)
	from := (at - 1) / turnsShown * turnsShown
	d.Pages = pager{From: from + 1, To: min(from+turnsShown, d.Total), Total: d.Total, HasBefore: from > 0, Later: from+turnsShown < d.Total}
	d.Pages.Before, d.Pages.Next = o.turnAddress(from+1-turnsShown), o.turnAddress(from+1+turnsShown)
	if d.Rows, err = o.turns(r, all, from, d.Pages.To); err != nil {
		return err
	}
	d.Rows[at-1-from].Open = true
	return o.fill(d.Rows, r, all, from)
}

func (all *outline) facts() []page.Fact {
	facts := []page.Fact{{Name: "exchanges", Value: view.Count(int64(len(all.turns)))}}
	if n := len(all.failed); n > 0 {
		facts = append(facts, page.Fact{Name: "failed exchanges", Value: view.Count(int64(n)), Class: "bad"})
	}
	if all.input+all.output > 0 {
		facts = append(facts, page.Fact{Name: "tokens in", Value: view.Count(all.input)}, page.Fact{Name: "tokens out", Value: view.Count(all.output)})
	}
	if all.cost > 0 {
		facts = append(facts, page.Fact{Name: "cost", Value: view.Dollars(all.cost)})
	}
	return facts
}

// fill adds the bodies of the turns of a page: of the open one, and of all if they are
// small.
func (o *one) fill(rows []turnRow, r *transcript.Reader, all *outline, from int) error {
	first, n := slices.IndexFunc(rows, func(row turnRow) bool { return row.Open }), 1
	if all.small(r, from, from+len(rows)) {
		first, n = 0, len(rows)
	}
	bodies, err := o.bodies(r, all, from+first, from+first+n)
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
func (all *outline) small(r *transcript.Reader, from, to int) bool {
	first, err := r.At(all.turns[from].Span)
	if err != nil {
		return false
	}
	last, err := r.At(all.turns[to-1].Span)
	return err == nil && endOf(last.Response)-endOf(first.Response) < maxInline && last.Request.Size()*int64(to-from) < 2*maxInline
}

// turn is the exchange that the address names, 0 if none.
func (o *one) turn() int {
	n, _ := strconv.Atoi(o.r.URL.Query().Get("turn"))
	return n
}

// turnAddress is the address of an exchange.
func (o *one) turnAddress(n int) string {
	return stepAddress(o.sum.ID, o.address, "transcript") + "&turn=" + strconv.Itoa(n) + "#turn-" + strconv.Itoa(n)
}

// turns are rows of the list. Times count from the first exchange.
func (o *one) turns(r *transcript.Reader, all *outline, from, to int) ([]turnRow, error) {
	var rows []turnRow
	for i := from; i < to; i++ {
		if o.ctx.Err() != nil {
			return nil, o.ctx.Err()
		}
		e, err := r.At(all.turns[i].Span)
		if err != nil {
			return nil, err
		}
		row := rowOf(r, e, all.start)
		row.Number, row.Link = strconv.Itoa(i+1), o.turnAddress(i+1)
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
		if row.Cost = view.Dollars(e.Cost); !e.Reported {
			row.Cost += " estimated"
		}
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

// turnPart answers with one exchange, as a part of a page. The script requests it when
// a turn is opened.
func (u *UI) turnPart(w http.ResponseWriter, r *http.Request) {
	text, err := u.turnBody(r)
	if err != nil {
		http.Error(w, "The transcript cannot be read.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"html": text}) // the reader may be gone
}

func (u *UI) turnBody(r *http.Request) (text string, err error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return "", err
	}
	address := r.URL.Query().Get("address")
	o := &one{u: u, ctx: r.Context(), r: r, m: m, sum: m.sums.Summary(), address: address, step: m.sums.Step(address)}
	unlock()
	err = u.Results(m.past, func(store Results) error {
		o.store = store
		o.open()
		return o.withTranscript(func(reader *transcript.Reader, all *outline, why string) error {
			n := o.turn()
			if why != "" || n < 1 || n > len(all.turns) {
				return errNothing
			}
			bodies, err := o.bodies(reader, all, n-1, n)
			if err == nil {
				text = string(page.Clean([]byte(bodies[0])))
			}
			return err
		})
	})
	return text, err
}
