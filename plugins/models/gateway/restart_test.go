package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// TestRateAfterRestart: the requests of the minute before a restart count, those
// of the attempt and those of the run; a clock that was set back makes nobody wait
// for longer than a minute.
func TestRateAfterRestart(t *testing.T) {
	for _, back := range []time.Duration{0, time.Hour} {
		for _, run := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				dir, m, limits := t.TempDir(), toyModel(), Limits{PerMinute: 3}
				if !run {
					m.Budget = limits
				}
				pool := func() *Pool {
					if run {
						return NewPool(limits)
					}
					return nil
				}
				wire := listen()
				server := &http.Server{Handler: says(3, 4)}
				go func() { _ = server.Serve(wire) }()
				defer server.Close()
				ask := func(b *bench) int {
					resp, _ := b.ask(toyRequest{Model: "small", Max: 1})
					return resp.StatusCode
				}
				first := startAt(t, dir, m, pool(), wire.Dial)
				got := []int{ask(first), ask(first)}
				first.stop()
				if back > 0 {
					setForward(t, filepath.Join(dir, "budget.jsonl"), back)
				}
				second := startAt(t, dir, m, pool(), wire.Dial)
				got = append(got, ask(second), ask(second))
				time.Sleep(time.Minute)
				got = append(got, ask(second))
				if fmt.Sprint(got) != "[200 200 200 429 200]" {
					t.Errorf("run %v, clock back by %s: %v", run, back, got)
				}
			})
		}
	}
}

// setForward makes the times of a ledger later.
func setForward(t *testing.T, path string, by time.Duration) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now, later := time.Now().UnixMilli(), time.Now().Add(by).UnixMilli()
	text := strings.ReplaceAll(string(data), fmt.Sprintf(`"time":%d`, now), fmt.Sprintf(`"time":%d`, later))
	if text == string(data) {
		t.Fatalf("no time in %s", data)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLiveReplayAfterRestart: a replay that may go on live is interrupted. An
// agent that goes on gets each recording once; one that begins again gets them
// all again, and what was asked live from the earlier try. Nothing is paid twice.
func TestLiveReplayAfterRestart(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := toyModel()
			recorded := start(t, m, nil, parts(0, "recorded\nusage 3 4\n"))
			_, _ = recorded.ask(toyRequest{Model: "small", Max: 10, Text: "a"})
			recorded.stop()
			provider := start(t, m, nil, parts(0, "live\nusage 3 4\n")).blocks["main"].Upstream
			ask := func(b *bench, texts ...string) (got string) {
				for _, text := range texts {
					_, body := b.ask(toyRequest{Model: "small", Max: 10, Text: text})
					word, _, _ := strings.Cut(body, "\n")
					got += word + " "
				}
				return got
			}
			dir, run := t.TempDir(), NewPool(Limits{})
			first := serve(t, dir, m, run, NewReplay(player(t, recorded.dir), Live, provider))
			if got := ask(first, "a", "b"); got != "recorded live " {
				t.Fatalf("at first: %s", got)
			}
			first.stop()
			var up Upstream
			if again {
				if err := os.MkdirAll(filepath.Join(dir, "x"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(filepath.Join(dir, "transcript"), filepath.Join(dir, "x", "transcript")); err != nil {
					t.Fatal(err)
				}
				provider = NewReplay(player(t, filepath.Join(dir, "x")), Resume, provider)
				up = NewReplay(player(t, recorded.dir), Live, provider)
			} else {
				replay := NewReplay(player(t, recorded.dir), Live, provider)
				before, err := transcript.OpenReader(os.DirFS(filepath.Join(dir, "transcript")))
				if err != nil || replay.Continue(before, "main") != nil {
					t.Fatal(err)
				}
				defer before.Close()
				up = replay
			}
			second := serveFor(t, dir, m, run, up, again)
			got, want, total, paid := "", "live ", 3*reportedCost, 2*reportedCost
			if again {
				got, want = ask(second, "a", "b", "c"), "recorded live live "
			} else {
				got = ask(second, "a")
			}
			events := second.events()
			if again && (!events[0].Replayed || !events[1].Replayed || events[1].Diverged != "" || events[2].Diverged == "") {
				t.Errorf("%+v", events)
			}
			spent, _ := second.blocks["main"].pool.Spent()
			shared, _ := run.Spent()
			if s := second.Summary()[0]; got != want || spent.Cost != total || s.Cost != total || shared.Cost != paid {
				t.Errorf("again %v: got %q, spent %s and %s, the run %s; want %q, %s and %s", again, got, spent.Cost, s.Cost, shared.Cost, want, total, paid)
			}
		})
	}
}

// TestResumeStaysLive: an agent that left the recordings of an earlier try does
// not return to them when mleflow is started again.
func TestResumeStaysLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		earlier := start(t, m, nil, parts(0, "recorded\nusage 3 4\n"))
		for _, text := range []string{"a", "b"} {
			_, _ = earlier.ask(toyRequest{Model: "small", Max: 10, Text: text})
		}
		earlier.stop()
		provider := start(t, m, nil, parts(0, "live\nusage 3 4\n")).blocks["main"].Upstream
		dir := t.TempDir()
		first := serve(t, dir, m, nil, NewReplay(player(t, earlier.dir), Resume, provider))
		_, _ = first.ask(toyRequest{Model: "small", Max: 10, Text: "x"})
		first.stop()
		replay := NewReplay(player(t, earlier.dir), Resume, provider)
		before, err := transcript.OpenReader(os.DirFS(filepath.Join(dir, "transcript")))
		if err != nil || replay.Continue(before, "main") != nil {
			t.Fatal(err)
		}
		defer before.Close()
		if _, body := serve(t, dir, m, nil, replay).ask(toyRequest{Model: "small", Max: 10, Text: "b"}); !strings.HasPrefix(body, "live") {
			t.Errorf("got %q", body)
		}
	})
}

// TestPausedByBlock: only the blocks that say so pause the clock.
func TestPausedByBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record, err := transcript.Open(filepath.Join(t.TempDir(), "transcript"), 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer record.Close()
		slow := waiting{}
		other := toyModel()
		other.Name = "other"
		g, err := New(Options{Dir: t.TempDir(), Transcript: record, Blocks: []Block{
			{Model: toyModel(), Dialect: toy{}, Virtual: virtualKey, Upstream: slow},
			{Model: other, Dialect: toy{}, Virtual: virtualKey, Upstream: slow, PauseClock: true},
		}})
		if err != nil {
			t.Fatal(err)
		}
		b := serving(t, g, "", record)
		for name, want := range map[string]time.Duration{"main": 0, "other": time.Minute} {
			before := g.Paused()
			_, _ = b.ask(toyRequest{Model: "small", Max: 1}, func(r *http.Request) { r.URL.Path = "/" + name + "/v1/ask" })
			if got := g.Paused() - before; got != want {
				t.Errorf("%s paused the clock for %s, want %s", name, got, want)
			}
		}
		for _, s := range g.Summary() {
			if s.Waited != 60 && s.Requests > 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// waiting is a provider that fails after a minute.
type waiting struct{}

// Do implements Upstream.
func (waiting) Do(_ context.Context, call *Call) (*Reply, error) {
	if err := call.Reserve(); err != nil {
		return nil, err
	}
	end := call.Wait(time.Now())
	time.Sleep(time.Minute)
	end()
	return nil, &Failure{Err: errors.New("down")}
}
