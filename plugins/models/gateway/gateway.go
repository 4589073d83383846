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

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// Options are what a Gateway needs.
type Options struct {
	Blocks []Block
	// Dir is a folder that no agent sees, for budget.jsonl.
	Dir string
	// Transcript records every exchange. It is closed by its owner, after Serve
	// has returned.
	Transcript *transcript.Writer
	// Again says that the agent begins from scratch. What recordings were charged with is
	// taken back, since they will answer again; what was paid stays spent.
	Again bool
	// Spent is told what all blocks together used, and what was paid of it, when
	// that changes; it may be nil.
	Spent func(used, paid Amount)
}

// Block is a model block as one attempt uses it.
type Block struct {
	Model
	Dialect dialect.Dialect
	// Virtual is the key that the agent presents.
	Virtual string
	// Upstream answers: a provider, or a recording.
	Upstream Upstream
	// Real is the provider's key, "" if there is none. It is masked in what passes
	// to the agent and in the record.
	Real string
	// Run is the budget that all attempts share; nil if there is none.
	Run *Pool
	// PauseClock says that the time for which the provider makes requests wait is
	// part of Gateway.Paused.
	PauseClock bool
}

// NewKey returns a virtual key for clients of a dialect: random, and of no use
// anywhere else.
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
	futile futile
	// bodies bounds the bytes of the requests that are held at once.
	bodies *semaphore.Weighted
	// busy are the exchanges in progress.
	busy sync.WaitGroup
}

// block is a Block with its budget.
type block struct {
	Block
	Secrets *secret.Set
	pool    *Pool
	// share names what this attempt spends of the run's budget.
	share string
	// waits are the gateway's if they pause the clock.
	waits  *waits
	ledger *ledger
}

// summary is what the attempt did with the block.
func (b *block) summary() Summary {
	s := b.ledger.summary(b.Name)
	for prefix, p := range map[string]*Pool{"": b.pool, "run_": b.Run} {
		if p == nil {
			continue
		}
		if limit := p.passed(); limit != "" && !slices.Contains(s.Exhausted, prefix+limit) {
			s.Exhausted = append(s.Exhausted, prefix+limit)
		}
	}
	slices.Sort(s.Exhausted)
	return s
}

const (
	// maxBody is the greatest body of a request, maxBodies that of all together.
	maxBody   = 64 << 20
	maxBodies = 256 << 20
	// maxConnections is how many an agent may have open at once.
	maxConnections = 256
	// bodyTime is how long a body may take to arrive.
	bodyTime = 10 * time.Minute
)

// New returns a gateway. What the attempt spent before, by budget.jsonl, is
// spent. The run's budget is charged with it, too, unless it was already.
func New(o Options) (*Gateway, error) {
	l, err := openLedger(filepath.Join(o.Dir, "budget.jsonl"))
	if err != nil {
		return nil, err
	}
	if o.Again {
		l.note(entry{Kind: begun})
	}
	g := &Gateway{blocks: map[string]*block{}, spent: o.Spent, ledger: l, record: o.Transcript, bodies: semaphore.NewWeighted(maxBodies)}
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

// tell tells what was spent by now.
func (g *Gateway) tell() {
	if g.spent != nil {
		g.spent(g.ledger.total())
	}
}

// Serve serves on l until ctx ends, and returns when every exchange is recorded.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	err := service.Serve(ctx, l, g, service.Limits{
		Connections: maxConnections, Header: 30 * time.Second, HeaderBytes: 64 << 10, Idle: 5 * time.Minute,
	})
	g.busy.Wait()
	return err
}

// Close closes the ledger. It is called after Serve has returned.
func (g *Gateway) Close() error { return g.ledger.close() }

// Summary is what the attempt did with each model block, in their order.
func (g *Gateway) Summary() []Summary {
	out := make([]Summary, 0, len(g.names))
	for _, name := range g.names {
		out = append(out, g.blocks[name].summary())
	}
	return out
}

// Paused is the time in which at least one request to a block with PauseClock
// waited for a provider that failed, up to now. It counts from this gateway's
// beginning.
func (g *Gateway) Paused() time.Duration { return g.waits.total() }

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
