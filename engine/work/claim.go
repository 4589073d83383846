package work

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/remote"
)

const (
	// DefaultInterval is the interval at which a claim is renewed.
	DefaultInterval = 15 * time.Second
	// missed is the number of renewals that a holder may miss.
	missed = 6
	// claimPrefix and eventsPrefix are prefixes of document names.
	claimPrefix  = "claim-"
	eventsPrefix = "events-"
)

// errSuperseded means that another worker has taken over the action.
var errSuperseded = errors.New("another worker has taken over the action")

// claimDocument is the stored form of a claim.
type claimDocument struct {
	// Worker is a random name, unique to the worker. Node is the worker's
	// machine.
	Worker string `json:"worker"`
	Node   string `json:"node"`
	// Process is the worker's process, as Worker.Process.
	Process string `json:"process,omitempty"`
	// Beat counts the renewals. There is one every IntervalMillis.
	Beat           int   `json:"beat"`
	IntervalMillis int64 `json:"interval_ms"`
	// Ended means that the worker has given the claim up.
	Ended bool `json:"ended,omitempty"`
}

// claim is a claim held by this worker.
type claim struct {
	desk       remote.Desk
	action     digest.ActionID
	generation int

	mu  sync.Mutex
	doc claimDocument
}

func claimName(id digest.ActionID, generation int) string {
	return remote.WorkName(id, fmt.Sprintf("%s%06d", claimPrefix, generation))
}

// documents returns the names of an action's documents with a prefix, without it.
func documents(ctx context.Context, desk remote.Desk, id digest.ActionID, prefix string) (names []string, err error) {
	folder := remote.WorkName(id, "")
	all, err := desk.List(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("list work on action %s: %w", id.Short(), err)
	}
	for _, name := range all {
		if rest, ok := strings.CutPrefix(name, folder+prefix); ok {
			names = append(names, rest)
		}
	}
	return names, nil
}

// readDocument returns a document of an action and its encoded form. Both are nil if
// there is none. what names it.
func readDocument[T any](ctx context.Context, desk remote.Desk, id digest.ActionID, name, what string) (*T, []byte, error) {
	data, err := desk.Get(ctx, name)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil, nil
	}
	doc := new(T)
	if err == nil {
		err = json.Unmarshal(data, doc)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s of action %s: %w", what, id.Short(), err)
	}
	return doc, data, nil
}

func readClaim(ctx context.Context, desk remote.Desk, id digest.ActionID, generation int) (*claimDocument, []byte, error) {
	return readDocument[claimDocument](ctx, desk, id, claimName(id, generation), "claim")
}

// writeDocument replaces a document.
func writeDocument(ctx context.Context, desk remote.Desk, name string, doc any) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return desk.Put(ctx, name, data)
}

// lastClaim returns the highest generation claimed so far, its claim and the claim's
// encoded form. They are zero if there is none.
func lastClaim(ctx context.Context, desk remote.Desk, id digest.ActionID) (generation int, doc *claimDocument, data []byte, err error) {
	names, err := documents(ctx, desk, id, claimPrefix)
	for _, text := range names {
		if n, err := strconv.Atoi(text); err == nil {
			generation = max(generation, n)
		}
	}
	if err == nil && generation > 0 {
		doc, data, err = readClaim(ctx, desk, id, generation)
	}
	return generation, doc, data, err
}

// waiter waits until a worker can claim an action.
type waiter struct {
	*Worker
	desk   remote.Desk
	action digest.ActionID
	// seen is the last claim read. since is the time of its last change.
	seen  string
	since time.Time
}

// try claims the action if nobody holds it. It returns nil if somebody does.
func (w *waiter) try(ctx context.Context) (*claim, error) {
	generation, doc, data, err := lastClaim(ctx, w.desk, w.action)
	if err != nil || doc != nil && !doc.Ended && !w.dead(doc) && !w.silent(doc, generation, data) {
		return nil, err
	}
	c := &claim{desk: w.desk, action: w.action, generation: generation + 1,
		doc: claimDocument{Worker: rand.Text(), Node: w.Node, Process: w.Process, IntervalMillis: w.Interval.Milliseconds()}}
	data, err = json.Marshal(c.doc)
	if err == nil {
		err = w.desk.Create(ctx, claimName(w.action, c.generation), data)
	}
	if errors.Is(err, remote.ErrExists) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claim action %s: %w", w.action.Short(), err)
	}
	return c, nil
}

// dead reports whether the holder of a claim was a process of this machine that has ended
// for certain.
func (w *waiter) dead(doc *claimDocument) bool {
	return w.Dead != nil && doc.Process != "" && doc.Node == w.Node && w.Dead(doc.Process)
}

// silent reports whether a claim has been unchanged for so long that its holder
// counts as gone.
func (w *waiter) silent(doc *claimDocument, generation int, data []byte) bool {
	now := strconv.Itoa(generation) + string(data)
	if now != w.seen {
		w.seen, w.since = now, time.Now()
	}
	return time.Since(w.since) >= missed*time.Duration(max(1, doc.IntervalMillis))*time.Millisecond
}

// check returns errSuperseded if this worker no longer holds the claim.
func (c *claim) check(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checkLocked(ctx)
}

func (c *claim) checkLocked(ctx context.Context) error {
	own, _, err := readClaim(ctx, c.desk, c.action, c.generation)
	if err != nil {
		return err
	}
	if own == nil || own.Worker != c.doc.Worker {
		return errSuperseded
	}
	other, _, err := readClaim(ctx, c.desk, c.action, c.generation+1)
	if err == nil && other != nil {
		err = errSuperseded
	}
	return err
}

// renew checks the claim and writes it again.
func (c *claim) renew(ctx context.Context, ended bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkLocked(ctx); err != nil {
		return err
	}
	c.doc.Beat++
	c.doc.Ended = ended
	return writeDocument(ctx, c.desk, claimName(c.action, c.generation), c.doc)
}

// keep renews the claim until ctx ends. It calls lost if another worker takes
// over. Other errors are retried at the next renewal, because only another
// claim ends this one.
func (c *claim) keep(ctx context.Context, lost func(error)) {
	every := time.Duration(c.doc.IntervalMillis) * time.Millisecond
	for progress.Sleep(ctx, every) == nil {
		if err := c.renew(ctx, false); errors.Is(err, errSuperseded) {
			lost(err)
			return
		}
	}
}
