package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// Options configure a Gateway.
type Options struct {
	Blocks []Block
	// Dir is the folder of budget.jsonl, hidden from all agents.
	Dir string
	// Transcript records every exchange. Its owner closes it after Serve has
	// returned.
	Transcript *transcript.Writer
	// Again means that the agent starts from scratch. Charges for replayed
	// recordings are reverted, because the recordings answer again. Money
	// already paid stays spent.
	Again bool
	// Spent is called with the total use of all blocks, and the paid part of
	// it, whenever they change. It may be nil.
	Spent func(used, paid Amount)
}

// Block is a model block in one attempt.
type Block struct {
	Model
	Dialect dialect.Dialect
	// Virtual is the key that the agent presents.
	Virtual string
	// Upstream answers the requests: a provider or a recording.
	Upstream Upstream
	// Real is the provider's key, or "" if there is none. It is masked in
	// everything that reaches the agent or the record.
	Real string
	// Run is the budget shared by all attempts, or nil if there is none.
	Run *Pool
	// PauseClock makes Gateway.Paused include the time that requests wait for
	// the provider.
	PauseClock bool
}

// NewKey returns a random virtual key for clients of a dialect. It is worthless
// elsewhere.
func NewKey(d dialect.Dialect) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return d.KeyPrefix() + "mleflow-" + base64.RawURLEncoding.EncodeToString(b[:])
}

// Gateway serves one attempt.
type Gateway struct {
	blocks map[string]*block
	names  []string
	ledger *ledger
	record *transcript.Writer
	spent  func(used, paid Amount)
	waits  waits
	calls  calls
	futile futile
	// bodies bounds the total bytes of request bodies in memory.
	bodies *semaphore.Weighted
	// ended is closed when the attempt has ended.
	ended chan struct{}
	// busy counts the exchanges in progress.
	busy sync.WaitGroup
}

// block is a Block with its budget.
type block struct {
	Block
	Secrets *secret.Set
	pool    *Pool
	// share identifies this attempt's spending in the run's budget.
	share string
	// waits is the gateway's if waiting pauses the clock, and the block's own
	// otherwise.
	waits  *waits
	ledger *ledger
}

// summary returns the attempt's use of the block.
func (b *block) summary() Summary {
	s := b.ledger.summary(b.Name)
	for i, p := range b.pools() {
		if limit := p.passed(); limit != "" && !slices.Contains(s.Exhausted, limitPrefixes[i]+limit) {
			s.Exhausted = append(s.Exhausted, limitPrefixes[i]+limit)
		}
	}
	slices.Sort(s.Exhausted)
	return s
}

// pools returns the budgets of the attempt and, if there is one, of the run. The names of their
// limits have prefixes.
func (b *block) pools() []*Pool {
	if b.Run == nil {
		return []*Pool{b.pool}
	}
	return []*Pool{b.pool, b.Run}
}

var limitPrefixes = []string{"", "run_"}

const (
	// maxBody is the largest body of a request, maxBodies that of all together.
	maxBody   = 64 << 20
	maxBodies = 256 << 20
	// maxConnections is the number of connections that an agent may open at
	// once.
	maxConnections = 256
	// bodyTime is the time in which a body must arrive.
	bodyTime = 10 * time.Minute
)

// New returns a gateway. Amounts that the attempt spent earlier, according to
// budget.jsonl, stay spent. The run's budget is charged with them too, unless
// it already was.
func New(o Options) (*Gateway, error) {
	l, err := openLedger(filepath.Join(o.Dir, "budget.jsonl"))
	if err != nil {
		return nil, err
	}
	if o.Again {
		l.note(entry{Kind: begun})
	}
	g := &Gateway{blocks: map[string]*block{}, spent: o.Spent, ledger: l, record: o.Transcript, ended: make(chan struct{}), bodies: semaphore.NewWeighted(maxBodies)}
	for _, b := range o.Blocks {
		if b.Virtual == "" || b.Upstream == nil || b.Dialect == nil || g.blocks[b.Name] != nil {
			return nil, errors.Join(fmt.Errorf("model %q: declared twice, or without key, dialect or upstream", b.Name), l.close())
		}
		one := &block{Block: b, Secrets: secret.New(b.Real), pool: NewPool(b.Budget), waits: &waits{}, ledger: l}
		if b.PauseClock {
			one.waits = &g.waits
		}
		before := l.of(b.Name)
		one.pool.restore("", before.spent, before.starts)
		if b.Run != nil {
			one.share = o.Dir + "/" + b.Name
			b.Run.restore(one.share, before.live, before.starts)
		}
		g.blocks[b.Name] = one
		g.names = append(g.names, b.Name)
	}
	g.tell()
	return g, nil
}

// tell reports the total spending.
func (g *Gateway) tell() {
	if g.spent != nil {
		g.spent(g.ledger.total())
	}
}

// Serve serves on l until ctx ends. It returns after every exchange is
// recorded.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { close(g.ended) })()
	err := service.Serve(ctx, l, g, service.Limits{
		Connections: maxConnections, Header: 30 * time.Second, HeaderBytes: 64 << 10, Body: 2 * time.Minute, Idle: 5 * time.Minute,
	})
	g.busy.Wait()
	return err
}

// Answer answers one request without a network, until the context of the request ends. A
// response may break off, which only the transcript says.
func (g *Gateway) Answer(w http.ResponseWriter, r *http.Request) {
	defer context.AfterFunc(r.Context(), func() { close(g.ended) })()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is never wrapped
			panic(p)
		}
	}()
	g.ServeHTTP(w, r)
}

// Close closes the ledger. Call it after Serve has returned.
func (g *Gateway) Close() error { return g.ledger.close() }

// Summary returns the attempt's use of each model block, in their order.
func (g *Gateway) Summary() []Summary {
	return lists.Of(g.names, func(name string) Summary { return g.blocks[name].summary() })
}

// Extend adds to the attempt's budget of money of each block that has one. It reports
// whether there is one.
func (g *Gateway) Extend(more Dollars) (some bool) {
	for _, b := range g.blocks {
		some = b.pool.raise(more) || some
	}
	return some
}

// Paused returns the total time, since the gateway was opened, in which at
// least one request to a block with PauseClock waited for a failing provider.
func (g *Gateway) Paused() time.Duration { return g.waits.total() }

// Calls says when the last request to a model was under way, and for how long at least one
// was since the gateway was opened. While one is, and until the time at which a provider
// asked to be asked again, the last is now.
func (g *Gateway) Calls() (last time.Time, busy time.Duration) { return g.calls.now() }

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.busy.Add(1)
	defer g.busy.Done()
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if name == "budget" && rest == "" && r.Method == http.MethodGet {
		reply(w, http.StatusOK, g.budgets())
		return
	}
	b := g.blocks[name]
	switch {
	case b == nil:
		reply(w, http.StatusNotFound, map[string]string{"error": "no such model; the addresses are /NAME/… of the agent's models, and /budget"})
	case rest == "budget" && r.Method == http.MethodGet:
		reply(w, http.StatusOK, b.budget())
	default:
		g.exchange(w, r, b, "/"+rest)
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}

// calls measures the time in which at least one request was under way. It is safe for
// concurrent use.
type calls struct {
	mu   sync.Mutex
	open int
	// since is the start of the requests under way, last the end of the last one, later
	// the time until which a provider asked to wait, and busy the time of those that ended.
	since, last, later time.Time
	busy               time.Duration
}

// begin starts a request.
func (c *calls) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open++; c.open == 1 {
		c.since = time.Now()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last = time.Now()
		if c.open--; c.open == 0 {
			c.busy += c.last.Sub(c.since)
		}
	}
}

// wait notes that a provider asked to wait, which counts for at most a day.
func (c *calls) wait(asked time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(min(asked, 24*time.Hour)); until.After(c.later) {
		c.later = until
	}
}

func (c *calls) now() (last time.Time, busy time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case c.open > 0:
		return now, c.busy + now.Sub(c.since)
	case c.later.After(now):
		return now, c.busy
	case c.later.After(c.last):
		return c.later, c.busy
	}
	return c.last, c.busy
}

// waits measures the time in which at least one request waited for a failing
// provider. It is safe for concurrent use.
type waits struct {
	mu   sync.Mutex
	done []span
	open map[int]time.Time
	next int
}

type span struct{ from, to time.Time }

// begin starts a wait that began at from.
func (w *waits) begin(from time.Time) (end func() time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[int]time.Time{}
	}
	id := w.next
	w.next++
	w.open[id] = from
	return sync.OnceValue(func() time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		now := time.Now()
		delete(w.open, id)
		w.done = union(append(w.done, span{from, now}))
		return now.Sub(from)
	})
}

// total returns the time up to now.
func (w *waits) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	all := slices.Clone(w.done)
	for _, from := range w.open {
		all = append(all, span{from, now})
	}
	return lists.Sum(union(all), func(s span) time.Duration { return s.to.Sub(s.from) })
}

// union merges overlapping spans.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && !s.from.After(out[n-1].to) {
			if s.to.After(out[n-1].to) {
				out[n-1].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
