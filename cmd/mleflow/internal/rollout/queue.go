package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// Runner makes attempts. It is safe for concurrent use.
type Runner interface {
	// Check refuses a request that this server does not serve.
	Check(ctx context.Context, r Request) error
	// Run makes the attempt and grades it. It reports the run and each next state. Its
	// context is cancelled if somebody cancels the rollout, and with the cause Options.Leave
	// if the server ends.
	Run(ctx context.Context, r Rollout, report func(State, string)) (*Result, error)
}

// Options configure a Queue.
type Options struct {
	// Parallel is how many rollouts run at a time.
	Parallel int
	// Limits are those of an owner whom Owners does not name.
	Limits queue.Limits
	Owners map[string]queue.Limits
	// Leave is the cause of a Runner's context when the server ends.
	Leave error
	// Say is told what a person at the server should know.
	Say func(string)
}

// kept is for how long the rollouts that have ended are known.
const kept = 30 * 24 * time.Hour

// Queue keeps rollouts and runs them. It is safe for concurrent use.
type Queue struct {
	dir string
	run Runner
	o   Options

	mu sync.Mutex
	// all are the rollouts by ID, keys by owner and key.
	all   map[string]*entry
	keys  map[[2]string]*entry
	turns queue.Turns[*entry]
	// wake is sent to when a rollout may start.
	wake chan struct{}
	work sync.WaitGroup
}

// entry is a rollout in memory. The queue's lock guards all but saved and ID.
type entry struct {
	Rollout
	// states are the rollout in each state since this server began, for who follows.
	states  []Rollout
	changed chan struct{}
	// saved is closed once the rollout is on disk, or could not be written.
	saved   chan struct{}
	failure error
	cancel  context.CancelFunc
	phase   queue.Phase
}

// Turn implements queue.Entry.
func (e *entry) Turn() queue.Turn {
	return queue.Turn{ID: e.ID, Owner: e.Owner, Phase: e.phase, Started: e.Started}
}

// Open reads the rollouts in a folder of the cache, of which the caller has the lock.
func Open(dir string, run Runner, o Options) (*Queue, error) {
	q := &Queue{dir: dir, run: run, o: o, all: map[string]*entry{}, keys: map[[2]string]*entry{}, wake: make(chan struct{}, 1)}
	q.turns = queue.Turns[*entry]{Parallel: o.Parallel, Limits: q.limits, What: "rollouts"}
	err := queue.Folder(dir)
	if err == nil {
		err = q.load()
	}
	if err != nil {
		return nil, fmt.Errorf("open the rollouts: %w", err)
	}
	return q, nil
}

func (q *Queue) load() error {
	files, err := os.ReadDir(q.dir) // sorted by ID, which is by time
	if err != nil {
		return err
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		e := newEntry(Rollout{})
		close(e.saved)
		err := queue.Read(q.path(id), &e.Rollout)
		if err == nil && e.ID != id {
			err = errors.New("it is a copy of another")
		}
		if err != nil {
			q.o.Say(fmt.Sprintf("The rollout %s is left out: %v", id, err))
			continue
		}
		if e.State.Over() && time.Since(e.Ended) > kept {
			if err := os.Remove(q.path(id)); err != nil {
				return err
			}
			continue
		}
		if !e.State.Over() {
			e.State, e.Started, e.phase = Queued, time.Time{}, queue.Waiting
		}
		e.states = []Rollout{e.Rollout}
		q.enter(e)
	}
	q.awake()
	return nil
}

func (q *Queue) path(id string) string { return filepath.Join(q.dir, id+".json") }

func newEntry(r Rollout) *entry {
	return &entry{Rollout: r, states: []Rollout{r}, changed: make(chan struct{}), saved: make(chan struct{})}
}

// enter adds an entry. The caller holds the lock.
func (q *Queue) enter(e *entry) {
	q.all[e.ID], q.keys[[2]string{e.Owner, e.Key}] = e, e
	q.turns.Enter(e)
}

func (q *Queue) awake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Submit returns the rollout of a request, a new one or that of its key. It survives a crash
// once it is returned.
func (q *Queue) Submit(ctx context.Context, who string, r Request) (one Rollout, isNew bool, err error) {
	r.Reward.On = cmp.Or(r.Reward.On, conditions.OnTest)
	if err := r.check(); err != nil {
		return one, false, err
	}
	key := r.Key
	if err := q.run.Check(ctx, r); err != nil {
		return one, false, err
	}
	r.Key = ""
	q.mu.Lock()
	if e := q.keys[[2]string{who, key}]; e != nil {
		one, err = e.Rollout, e.same(r)
		q.mu.Unlock()
		<-e.saved
		return one, false, cmp.Or(err, e.failure)
	}
	e, err := q.admit(who, key, r)
	q.mu.Unlock()
	if err != nil {
		return one, false, err
	}
	err = q.write(e.Rollout)
	q.mu.Lock()
	defer q.mu.Unlock()
	defer close(e.saved)
	if e.failure = err; err != nil { // its key may be used again
		delete(q.all, e.ID)
		delete(q.keys, [2]string{who, key})
		q.turns.Change(e, func() { e.phase = queue.Gone })
		return one, false, err
	}
	q.turns.Change(e, func() { e.phase = queue.Waiting })
	q.awake()
	return e.Rollout, true, nil
}

// admit makes an entry of which nobody has heard, unless its owner has too many. The caller
// holds the lock.
func (q *Queue) admit(who, key string, r Request) (*entry, error) {
	if err := q.turns.Full(who); err != nil {
		return nil, err
	}
	at := queue.Now()
	e := newEntry(Rollout{ID: queue.NewID(at), Key: key, Owner: who, State: Queued, Request: r, Attempt: r.Attempt(), Submitted: at})
	e.phase = queue.Coming
	q.enter(e)
	return e, nil
}

// same refuses another request than that of the entry.
func (e *entry) same(r Request) error {
	is, _ := json.Marshal(r) // both are of strings and numbers
	was, _ := json.Marshal(e.Request)
	if string(is) != string(was) {
		return fmt.Errorf("%w: key %q has been used for %s; use a new key for another request", ErrKey, e.Key, was)
	}
	return nil
}

func (q *Queue) write(r Rollout) error {
	if err := queue.Write(q.path(r.ID), r); err != nil {
		return fmt.Errorf("record rollout %s: %w", r.ID, err)
	}
	return nil
}

// limits are those of an owner.
func (q *Queue) limits(who string) queue.Limits {
	if l, ok := q.o.Owners[who]; ok {
		return l
	}
	return q.o.Limits
}

// Run runs what is queued until the context ends. Rollouts that run then are left to the next
// server.
func (q *Queue) Run(ctx context.Context) error {
	defer q.work.Wait()
	for {
		q.mu.Lock()
		for e := q.turns.Next(); e != nil; e = q.turns.Next() {
			q.start(ctx, e)
		}
		q.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		}
	}
}

// start runs an entry. The caller holds the lock.
func (q *Queue) start(ctx context.Context, e *entry) {
	left, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { leave(q.o.Leave) })
	var own context.Context
	own, e.cancel = context.WithCancel(left)
	q.turns.Change(e, func() { e.phase, e.Started = queue.Active, queue.Now() })
	q.change(e, func(r *Rollout) { r.State = Running })
	one := e.Rollout
	q.work.Go(func() {
		defer stop()
		result, err := q.made(own, e, one)
		q.ended(ctx, e, result, err)
		leave(nil)
	})
}

// made is what the Runner made of a rollout. A panic is its failure, not the server's.
func (q *Queue) made(ctx context.Context, e *entry, one Rollout) (result *Result, err error) {
	defer crash.Catch(&err)
	return q.run.Run(ctx, one, func(s State, run string) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if !e.State.Over() && (s != e.State || run != e.Rollout.Run) {
			q.change(e, func(r *Rollout) { r.State, r.Run = s, cmp.Or(run, r.Run) })
		}
	})
}

// ended enters how a rollout ended. One that was cancelled meanwhile stays so; one that the
// end of the server interrupted is queued for the next.
func (q *Queue) ended(ctx context.Context, e *entry, result *Result, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.awake()
	q.turns.Change(e, func() { e.phase = queue.Gone })
	if e.State.Over() || err != nil && ctx.Err() != nil {
		return
	}
	last := e.Rollout
	last.Ended, last.Result = queue.Now(), result
	if last.State = Done; err != nil {
		last.State, last.Error, last.Result = Failed, err.Error(), nil
	}
	if err := q.write(last); err != nil { // the next server grades it again
		q.o.Say(err.Error())
	}
	q.change(e, func(r *Rollout) { *r = last })
}

// change changes an entry and tells who follows it. The caller holds the lock.
func (q *Queue) change(e *entry, do func(*Rollout)) {
	do(&e.Rollout)
	e.states = append(e.states, e.Rollout)
	close(e.changed)
	e.changed = make(chan struct{})
}

// Cancel takes a rollout out of the queue, or ends its attempt. Its state is final at once.
func (q *Queue) Cancel(id string) (Rollout, error) {
	q.mu.Lock()
	e := q.all[id]
	q.mu.Unlock()
	if e == nil {
		return Rollout{}, ErrUnknown
	}
	<-e.saved // it is in the queue then, or gone
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.failure != nil {
		return Rollout{}, ErrUnknown
	}
	if e.State.Over() {
		return e.Rollout, ErrOver
	}
	last := e.Rollout
	last.State, last.Ended = Cancelled, queue.Now()
	if err := q.write(last); err != nil {
		return e.Rollout, err
	}
	if e.cancel == nil {
		q.turns.Change(e, func() { e.phase = queue.Gone })
	} else {
		e.cancel()
	}
	q.change(e, func(r *Rollout) { *r = last })
	return e.Rollout, nil
}

// List returns the newest rollouts, at most n.
func (q *Queue) List(n int) []Rollout {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := slices.Sorted(maps.Keys(q.all))
	list := []Rollout{}
	for _, id := range slices.Backward(ids) {
		if len(list) == n {
			break
		}
		list = append(list, q.all[id].Rollout)
	}
	return list
}

// Get returns a rollout.
func (q *Queue) Get(id string) (Rollout, error) {
	states, _, err := q.After(id, 0)
	if err != nil {
		return Rollout{}, err
	}
	return states[len(states)-1], nil
}

// After returns a rollout in its states behind the first n of this server, and a channel that
// is closed when there are more.
func (q *Queue) After(id string, n int) ([]Rollout, <-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.all[id]
	if e == nil {
		return nil, nil, ErrUnknown
	}
	return slices.Clone(e.states[min(max(n, 0), len(e.states)):]), e.changed, nil
}

// Wait returns a rollout once it has ended, or as it is when the context ends.
func (q *Queue) Wait(ctx context.Context, id string) (Rollout, error) {
	for {
		states, changed, err := q.After(id, 0)
		if err != nil {
			return Rollout{}, err
		}
		one := states[len(states)-1]
		if one.State.Over() {
			return one, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return one, nil
		}
	}
}
