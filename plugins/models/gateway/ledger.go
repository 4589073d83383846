package gateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// entry is one line of the ledger.
type entry struct {
	// Kind is reserve, settle, replay, refuse or begin. ID links a settle to
	// its reserve.
	Kind  string `json:"kind"`
	ID    int64  `json:"id,omitempty"`
	Model string `json:"model"`
	// Amount is the held amount (reserve) or the spent amount (settle, replay).
	*Amount
	// Time is the time of a reservation in milliseconds since 1970.
	Time int64 `json:"time,omitempty"`
	// Reported means that the provider reported Usage; it is an estimate
	// otherwise.
	Reported bool           `json:"reported,omitempty"`
	Usage    *dialect.Usage `json:"usage,omitempty"`
	// List is the cost by mleflow's price list, or nil if it is unknown.
	List *Dollars `json:"list,omitempty"`
	// FirstByte and Waited are in seconds.
	FirstByte float64 `json:"first_byte_seconds,omitempty"`
	Waited    float64 `json:"waited_seconds,omitempty"`
	// Reason is the reason of a refusal, Limit the exhausted limit of the
	// budget.
	Reason dialect.Reason `json:"reason,omitempty"`
	Limit  string         `json:"limit,omitempty"`
}

const (
	reserved = "reserve"
	settled  = "settle"
	replayed = "replay"
	refused  = "refuse"
	// begun marks a fresh start of the agent. The agent knows only what it is
	// told from here on, and earlier replayed answers no longer count as spent.
	begun = "begin"
)

// maxRefusals is the number of refusals that are written to the file. Later
// ones are only counted.
const maxRefusals = 10_000

// ledger holds an attempt's reservations and spending, in a file and, per model
// block, in memory. A line reaches the file before it takes effect, so kill -9
// loses at most the settlements in progress. The file is not synced for each
// line; a power failure may lose the last seconds.
type ledger struct {
	mu       sync.Mutex
	file     *os.File
	last     int64
	refusals int
	open     map[int64]entry
	tallies  map[string]*tally
}

// openLedger opens the ledger at path. Earlier reservations without a
// settlement count as spent.
func openLedger(path string) (*ledger, error) {
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open budget: %w", err)
	}
	l := &ledger{file: f, open: map[int64]entry{}, tallies: map[string]*tally{}}
	if err := l.restore(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open budget %s: %w", path, err)
	}
	return l, nil
}

// restore reads the file. It cuts off an incomplete last line, which had no
// effect yet.
func (l *ledger) restore() error {
	r := bufio.NewReader(l.file)
	var end int64
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		end += int64(len(line))
		if err := l.read(line); err != nil {
			return fmt.Errorf("line that ends at byte %d: %w", end, err)
		}
	}
	for id := range l.open {
		l.apply(entry{Kind: settled, ID: id})
	}
	if err := l.file.Truncate(end); err != nil {
		return err
	}
	_, err := l.file.Seek(end, io.SeekStart)
	return err
}

func (l *ledger) read(line []byte) error {
	var e entry
	if err := decode(line, &e); err != nil {
		return err
	}
	switch {
	case e.Kind == settled && l.open[e.ID].Kind == "":
		return fmt.Errorf("settles reservation %d, which is not open", e.ID)
	case !slices.Contains([]string{reserved, settled, replayed, refused, begun}, e.Kind):
		return fmt.Errorf("kind %q is not known", e.Kind)
	case e.Amount == nil && e.Kind != refused && e.Kind != begun:
		return fmt.Errorf("%s has no amount", e.Kind)
	}
	l.last = max(l.last, e.ID)
	l.apply(e)
	return nil
}

// apply updates the memory with a line. A settlement without an amount spends
// the whole reservation.
func (l *ledger) apply(e entry) {
	if e.Kind == settled {
		first := l.open[e.ID]
		delete(l.open, e.ID)
		e.Model = first.Model
		if e.Amount == nil {
			e.Amount = first.Amount
		}
		l.of(e.Model).settle(e, *first.Amount)
		return
	}
	if e.Kind == begun {
		for _, t := range l.tallies {
			t.begin()
		}
		return
	}
	t := l.of(e.Model)
	switch e.Kind {
	case reserved:
		l.open[e.ID] = e
		t.started(time.UnixMilli(e.Time))
	case replayed:
		t.settle(e, *e.Amount)
		t.Replayed++
	case refused:
		l.refusals++
		t.refuse(e)
	}
}

func (l *ledger) of(model string) *tally {
	t := l.tallies[model]
	if t == nil {
		t = newTally(model)
		l.tallies[model] = t
	}
	return t
}

// reserve records a reservation and returns its number.
func (l *ledger) reserve(model string, a Amount) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last, l.add(entry{Kind: reserved, ID: l.last, Model: model, Amount: &a, Time: time.Now().UnixMilli()})
}

// scaled increases the worst case of a request by the factor by which the
// provider exceeded earlier reservations.
func (l *ledger) scaled(model string, a Amount) Amount {
	l.mu.Lock()
	defer l.mu.Unlock()
	if by := l.of(model).excess; by > 1000 {
		a.Cost, a.Tokens = plus(times(a.Cost, Dollars(by)), 999)/1000, plus(times(a.Tokens, by), 999)/1000
	}
	return a
}

// note records a line. If it cannot be written, it is kept in memory.
func (l *ledger) note(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == refused && l.refusals >= maxRefusals {
		l.apply(e)
		return
	}
	if l.add(e) != nil {
		l.apply(e)
	}
}

func (l *ledger) add(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	n, err := l.file.Write(append(line, '\n'))
	if err != nil {
		// The next line must not follow a partial one.
		_, back := l.file.Seek(int64(-n), io.SeekCurrent)
		if back == nil {
			if at, err := l.file.Seek(0, io.SeekCurrent); err == nil {
				back = l.file.Truncate(at)
			}
		}
		return fmt.Errorf("write budget: %w", errors.Join(err, back))
	}
	l.apply(e)
	return nil
}

// summary returns the state of a model block.
func (l *ledger) summary(model string) Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(model).summary()
}

// total returns the use of all blocks and the paid part of it.
func (l *ledger) total() (used, paid Amount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tallies {
		used, paid = used.plus(t.spent), paid.plus(t.live)
	}
	return used, paid
}

func (l *ledger) close() error { return l.file.Close() }

// Summary is an attempt's use of one model block. It covers earlier openings of
// the gateway. Only the cost of an agent that was restarted from scratch is
// included; see Options.Again.
type Summary struct {
	Model string `json:"model"`
	// Requests counts the forwarded and replayed requests, Replayed only the
	// replayed ones. Refused counts the others by reason.
	Requests int64                    `json:"requests"`
	Replayed int64                    `json:"replayed,omitempty"`
	Refused  map[dialect.Reason]int64 `json:"refused,omitempty"`
	// Usage is the usage that providers reported, or that was assumed where they
	// reported none. Tokens and Cost are the charges. Unreported counts the
	// charges by assumption, and Estimated is their part of Cost.
	Usage      dialect.Usage `json:"usage"`
	Tokens     int64         `json:"tokens"`
	Cost       Dollars       `json:"cost_usd"`
	Unreported int64         `json:"unreported,omitempty"`
	Estimated  Dollars       `json:"estimated_cost_usd,omitempty"`
	// ListCost is the cost by mleflow's price list, without the Unlisted
	// responses, whose models the list does not know.
	ListCost Dollars `json:"list_cost_usd,omitempty"`
	Unlisted int64   `json:"unlisted,omitempty"`
	// ReplayedCost is the part of Cost that was not paid again: replayed
	// answers are charged at their recorded cost.
	ReplayedCost Dollars `json:"replayed_cost_usd,omitempty"`
	// Exceeded counts responses that used more than their reservations, because
	// the provider ignored the request's limit or a price is wrong.
	Exceeded int64 `json:"exceeded,omitempty"`
	// Waited is the time that requests waited because of failing providers and
	// pauses before retries. Concurrent waits add up; see Gateway.Paused.
	Waited    float64    `json:"waited_seconds"`
	FirstByte *Quantiles `json:"first_byte_seconds,omitempty"`
	// Exhausted are the limits that refused a request permanently or that a
	// response exceeded: "cost", "tokens", "requests". Limits of the run have
	// the prefix "run_".
	Exhausted []string `json:"exhausted,omitempty"`
}

// Quantiles are observed values of a set of times in seconds.
type Quantiles struct {
	Median float64 `json:"p50"`
	Slow   float64 `json:"p90"`
	Most   float64 `json:"max"`
}

// tally accumulates a Summary, without what follows from the other fields.
type tally struct {
	Summary
	exhausted map[string]bool
	// spent includes replayed answers, live does not.
	spent, live Amount
	// excess is the largest ratio of used to reserved amounts, in thousandths,
	// or 0 if no response exceeded its reservation.
	excess     int64
	firstBytes []float64
	// starts are the times of the requests of the last minute, oldest first.
	starts []time.Time
}

func newTally(model string) *tally {
	return &tally{Summary: Summary{Model: model, Refused: map[dialect.Reason]int64{}}, exhausted: map[string]bool{}}
}

// begin forgets everything about an earlier agent except its payments.
func (t *tally) begin() {
	fresh := newTally(t.Model)
	fresh.spent, fresh.live, fresh.Unreported, fresh.starts, fresh.excess = t.live, t.live, t.Unreported, t.starts, t.excess
	*t = *fresh
}

// permille returns used as thousandths of reserved, rounded up.
func permille(used, reserved int64) int64 {
	if reserved <= 0 {
		return 0
	}
	return plus(times(used, 1000), reserved-1) / reserved
}

// started records the time at which a request was sent.
func (t *tally) started(at time.Time) { t.starts = append(lastMinute(t.starts, at), at) }

// lastMinute drops times that are at least a minute before now.
func lastMinute(starts []time.Time, now time.Time) []time.Time {
	for len(starts) > 0 && now.Sub(starts[0]) >= time.Minute {
		starts = starts[1:]
	}
	return starts
}

// maxTimes bounds the number of times from which quantiles are computed.
const maxTimes = 1 << 20

func (t *tally) settle(e entry, held Amount) {
	t.Requests++
	t.spent = t.spent.plus(*e.Amount)
	if e.Kind == settled {
		t.live = t.live.plus(*e.Amount)
	}
	t.Waited += e.Waited
	if e.FirstByte > 0 && len(t.firstBytes) < maxTimes {
		t.firstBytes = append(t.firstBytes, e.FirstByte)
	}
	if e.exceeds(held) {
		t.Exceeded++
	}
	// A request does not bound the cost of its tool calls.
	if e.exceeds(held) && (e.Usage == nil || e.Usage.ToolCalls == dialect.ToolCalls{}) {
		t.excess = max(t.excess, permille(int64(e.Cost), int64(held.Cost)), permille(e.Tokens, held.Tokens))
	}
	if !e.Reported && e.Tokens > 0 {
		t.Unreported++
		t.Estimated = plus(t.Estimated, e.Cost)
	}
	if e.List != nil {
		t.ListCost = plus(t.ListCost, *e.List)
	} else if e.Tokens > 0 {
		t.Unlisted++
	}
	if e.Usage != nil {
		t.Usage = addUsage(t.Usage, *e.Usage)
	}
}

func (t *tally) refuse(e entry) {
	t.Refused[e.Reason]++
	if e.Reason == dialect.OverBudget {
		t.exhausted[e.Limit] = true
	}
}

func addUsage(a, b dialect.Usage) dialect.Usage {
	return dialect.Usage{
		Input: a.Input + b.Input, Audio: a.Audio + b.Audio, CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
		CacheWriteHour: a.CacheWriteHour + b.CacheWriteHour, Output: a.Output + b.Output, Reasoning: a.Reasoning + b.Reasoning,
		ToolCalls: a.ToolCalls.Plus(b.ToolCalls),
	}
}

func (t *tally) summary() Summary {
	s := t.Summary
	s.Tokens, s.Cost, s.ReplayedCost, s.Exhausted = t.spent.Tokens, t.spent.Cost, t.spent.Cost-t.live.Cost, slices.Sorted(maps.Keys(t.exhausted))
	if s.Refused = nil; len(t.Refused) > 0 {
		s.Refused = maps.Clone(t.Refused)
	}
	if n := len(t.firstBytes); n > 0 {
		sorted := slices.Sorted(slices.Values(t.firstBytes))
		s.FirstByte = &Quantiles{Median: sorted[(n-1)/2], Slow: sorted[(n*9+9)/10-1], Most: sorted[n-1]}
	}
	return s
}
