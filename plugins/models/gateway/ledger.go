package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
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
