package rollout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
)

var errLeft = errors.New("left")

// fake is a Runner whose attempts end when they may.
type fake struct {
	begun atomic.Int64
	// may lets an attempt end; nil ends all at once.
	may chan struct{}
	// left counts the attempts that the end of a server interrupted.
	left atomic.Int64
}

func (f *fake) Check(_ context.Context, r Request) error {
	if r.Agent != "a" {
		return fmt.Errorf("%w: agent %q", ErrInvalid, r.Agent)
	}
	return nil
}

func (f *fake) Run(ctx context.Context, r Rollout, report func(State, string)) (*Result, error) {
	f.begun.Add(1)
	report(Running, "run-of-"+r.ID)
	if f.may != nil {
		select {
		case <-f.may:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errLeft) {
				f.left.Add(1)
			}
			return nil, context.Cause(ctx)
		}
	}
	if r.Request.Seed == 13 {
		panic("a mistake of ours")
	}
	report(Grading, "run-of-"+r.ID)
	return &Result{Reward: 0.5, Run: "run-of-" + r.ID}, nil
}

func open(t testing.TB, dir string, f *fake, o Options) *Queue {
	t.Helper()
	o.Parallel, o.Leave = max(o.Parallel, 1), errLeft
	o.Say = func(text string) { t.Log(text) }
	q, err := Open(dir, f, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// serve runs a queue until the function that it returns is called.
func serve(t testing.TB, q *Queue) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	end = sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

func ask(t testing.TB, q *Queue, who, key string, seed uint32) Rollout {
	t.Helper()
	one, _, err := q.Submit(t.Context(), who, Request{Key: key, Agent: "a", Competition: "c", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func ended(t testing.TB, q *Queue, id string, want State) Rollout {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	one, err := q.Wait(ctx, id)
	if err != nil || one.State != want {
		t.Fatalf("%s is %s, not %s: %v", id, one.State, want, err)
	}
	return one
}

// TestEqualKeys sends a request a thousand times at once, which starts one attempt, and then
// others with its key.
func TestEqualKeys(t *testing.T) {
	f := &fake{}
	q := open(t, filepath.Join(t.TempDir(), "r"), f, Options{Parallel: 8})
	serve(t, q)
	var all sync.WaitGroup
	ids, isNew := make([]string, 1000), atomic.Int64{}
	for i := range ids {
		all.Go(func() {
			one, made, err := q.Submit(t.Context(), "ada", Request{Key: "k", Agent: "a", Competition: "c"})
			if err != nil {
				t.Error(err)
			}
			if ids[i] = one.ID; made {
				isNew.Add(1)
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two rollouts: %s and %s", id, ids[0])
		}
	}
	if one := ended(t, q, ids[0], Done); one.Result.Reward != 0.5 || one.Run != "run-of-"+one.ID {
		t.Errorf("%+v", one)
	}
	if isNew.Load() != 1 || f.begun.Load() != 1 || len(q.List(10)) != 1 {
		t.Errorf("%d new, %d attempts", isNew.Load(), f.begun.Load())
	}
	if _, _, err := q.Submit(t.Context(), "ada", Request{Key: "k", Agent: "a", Competition: "c", Seed: 1}); !errors.Is(err, ErrKey) {
		t.Errorf("another request with the key: %v", err)
	}
	if other := ask(t, q, "bob", "k", 0); other.ID == ids[0] {
		t.Error("bob got the rollout of ada by her key")
	}
}

// TestRestart kills servers at each state: the next one knows the rollouts, runs what had not
// ended, and gives no second result.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	f := &fake{may: make(chan struct{})}
	q := open(t, dir, f, Options{})
	end := serve(t, q)
	first, second, third := ask(t, q, "ada", "1", 1), ask(t, q, "ada", "2", 2), ask(t, q, "ada", "3", 3)
	f.may <- struct{}{}
	done := ended(t, q, first.ID, Done)
	if _, err := q.Cancel(third.ID); err != nil {
		t.Fatal(err)
	}
	for f.begun.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	end()
	if f.left.Load() != 1 {
		t.Errorf("%d attempts were left", f.left.Load())
	}
	text, err := os.ReadFile(q.path(third.ID))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"half": text[:len(text)/2], third.ID + "x": text} { // one cut off, and a copy
		if err := os.WriteFile(q.path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.may = nil
	q = open(t, dir, f, Options{})
	serve(t, q)
	if again := ask(t, q, "ada", "1", 1); again.ID != first.ID || again.Result.Reward != done.Result.Reward {
		t.Errorf("after a restart: %+v", again)
	}
	ended(t, q, second.ID, Done)
	ended(t, q, third.ID, Cancelled)
	if n := f.begun.Load(); n != 3 || len(q.List(10)) != 3 {
		t.Errorf("%d attempts of %d rollouts", n, len(q.List(10)))
	}
}

// TestCancel cancels rollouts while they are submitted, run and end: each has one end, and the
// queue goes on.
func TestCancel(t *testing.T) {
	f := &fake{}
	q := open(t, filepath.Join(t.TempDir(), "r"), f, Options{Parallel: 4})
	end := serve(t, q)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			one := ask(t, q, "ada", fmt.Sprint(i), 0)
			_, err := q.Cancel(one.ID)
			want := Cancelled
			if errors.Is(err, ErrOver) {
				want, err = Done, nil
			}
			if err != nil {
				t.Error(err)
			}
			if one := ended(t, q, one.ID, want); (one.Result != nil) != (want == Done) {
				t.Errorf("%s with a result", one.State)
			}
			if _, err := q.Cancel(one.ID); !errors.Is(err, ErrOver) {
				t.Errorf("a second time: %v", err)
			}
		})
	}
	all.Wait()
	ended(t, q, ask(t, q, "ada", "last", 0).ID, Done)
	if failed := ended(t, q, ask(t, q, "ada", "panic", 13).ID, Failed); failed.Error == "" || failed.Result != nil {
		t.Errorf("%+v", failed)
	}
	end() // what was cancelled has ended, too
	if waiting, active := q.turns.Counts("ada"); waiting != 0 || active != 0 {
		t.Errorf("%d wait, %d run", waiting, active)
	}
}

// TestShares lets owners take turns, and holds their limits.
func TestShares(t *testing.T) {
	f := &fake{may: make(chan struct{})}
	q := open(t, filepath.Join(t.TempDir(), "r"), f, Options{Parallel: 3, Limits: queue.Limits{Queued: 5}, Owners: map[string]queue.Limits{"bob": {Running: 1}}})
	for i := range 5 {
		ask(t, q, "ada", fmt.Sprint(i), 0)
		ask(t, q, "bob", fmt.Sprint(i), 0)
	}
	if _, _, err := q.Submit(t.Context(), "ada", Request{Key: "5", Agent: "a"}); !errors.Is(err, ErrLimit) {
		t.Errorf("a sixth one: %v", err)
	}
	serve(t, q)
	for f.begun.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	q.mu.Lock()
	_, ada := q.turns.Counts("ada")
	_, bob := q.turns.Counts("bob")
	q.mu.Unlock()
	if ada != 2 || bob != 1 {
		t.Errorf("%d of ada and %d of bob run", ada, bob)
	}
	close(f.may)
	for _, one := range q.List(100) {
		ended(t, q, one.ID, Done)
	}
}

// TestRefused sends what is too long, cannot be shown or has no key.
func TestRefused(t *testing.T) {
	q := open(t, filepath.Join(t.TempDir(), "r"), &fake{}, Options{})
	for _, r := range []Request{
		{Agent: "a"}, {Key: "k", Agent: "../a"}, {Key: strings.Repeat("k", 201), Agent: "a"}, {Key: "k\n", Agent: "a"}, {Key: "k", Agent: "a", Model: Model{Name: "\x00"}},
		{Key: "k", Agent: "a", Limits: Limits{Turns: -1}}, {Key: "k", Agent: "a", Reward: Reward{On: "train"}},
	} {
		if _, _, err := q.Submit(t.Context(), "ada", r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if len(q.List(1)) > 0 {
		t.Error("something was queued")
	}
	if _, err := q.Get("../../ada"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	var d Data
	for _, text := range []string{`"half"`, `{"micro": 0}`, `{"micro": -1}`, `{"micro": 1, "x": 1}`, `1`} {
		if err := d.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("data %s: %+v", text, d)
		}
	}
}

// TestMany queues thousands, lists them, and opens them again.
func TestMany(t *testing.T) {
	const n = 2000
	dir := filepath.Join(t.TempDir(), "r")
	q := open(t, dir, &fake{}, Options{Parallel: 8})
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := w; i < n; i += 16 {
				ask(t, q, "ada", fmt.Sprint(i), 0)
			}
		})
	}
	all.Wait()
	if list := q.List(100); len(list) != 100 || list[0].ID < list[99].ID {
		t.Errorf("%d are listed", len(list))
	}
	q = open(t, dir, &fake{}, Options{Parallel: 8})
	serve(t, q)
	for _, one := range q.List(n) {
		ended(t, q, one.ID, Done)
	}
}
