package gateway

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// player plays what a gateway recorded.
func player(t *testing.T, dir string) *transcript.Player {
	t.Helper()
	r, err := transcript.OpenReader(os.DirFS(filepath.Join(dir, "transcript")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	p, err := transcript.NewPlayer(func(_ string, op dialect.Operation, body []byte) (dialect.Canonical, error) {
		return toy{}.Canonical(string(op), body)
	}, nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReplay records sixteen conversations at once, each asking the same twice,
// and replays them: the same answers and the same budget, without a provider.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.Budget = Limits{Cost: 100 * Dollar}
		var mu sync.Mutex
		n := 0
		recorded := start(t, m, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			n++
			number := n
			mu.Unlock()
			if number%7 == 0 {
				raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut")(w, r)
				return
			}
			if number%5 == 0 {
				status(400)(w, r)
				return
			}
			parts(time.Duration(rand.IntN(1000))*time.Millisecond, fmt.Sprintf("answer %d\n", number), "usage 3 4\n")(w, r)
		}))
		ask := func(b *bench) map[string]string {
			var mu sync.Mutex
			var all sync.WaitGroup
			got := map[string]string{}
			for c := range 16 {
				all.Go(func() {
					for turn := range 6 {
						time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
						resp, text := b.ask(toyRequest{Model: "small", Max: 10, Text: fmt.Sprintf("%d %d", c, turn/2)})
						mu.Lock()
						got[fmt.Sprintf("%d %d", c, turn)] = fmt.Sprint(resp.StatusCode, resp.Header.Get("Content-Type"), text)
						mu.Unlock()
					}
				})
			}
			all.Wait()
			return got
		}
		want := ask(recorded)
		before := recorded.events()
		spent, _ := recorded.blocks["main"].pool.Spent()
		run := NewPool(Limits{Cost: Dollar / 1000}) // a replay costs the run nothing
		again := serve(t, t.TempDir(), m, run, NewReplay(player(t, recorded.dir), Fail, nil))
		got := ask(again)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s: %q, recorded %q", name, got[name], text)
			}
		}
		after := again.events()
		if len(before) != 96 || len(after) != 96 {
			t.Fatalf("%d and %d events", len(before), len(after))
		}
		for _, e := range after {
			if !e.Replayed || e.Recording == 0 {
				t.Fatalf("%+v", e)
			}
		}
		if now, _ := again.blocks["main"].pool.Spent(); now.Cost != spent.Cost {
			t.Errorf("spent %s, recorded %s", now.Cost, spent.Cost)
		}
		if s := again.Summary()[0]; s.Replayed != 96 || s.ReplayedCost != spent.Cost || s.Cost != spent.Cost {
			t.Errorf("%+v", s)
		}
		if all, _ := run.Spent(); all != (Amount{}) {
			t.Errorf("the run spent %+v", all)
		}
	})
}

// TestMisses: what has no recording fails and shows why, or goes on live and
// says so.
func TestMisses(t *testing.T) {
	for _, test := range []struct {
		onMiss OnMiss
		want   string // of three requests: recorded, not recorded, recorded
	}{
		{Fail, "recorded, 409, recorded"}, {Live, "recorded, live, recorded"}, {Resume, "recorded, live, live"},
	} {
		t.Run(test.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := toyModel()
				recorded := start(t, m, nil, parts(0, "recorded\nusage 3 4\n"))
				for _, text := range []string{"a", "c"} {
					_, _ = recorded.ask(toyRequest{Model: "small", Max: 10, Text: text})
				}
				recorded.stop()
				live := start(t, m, nil, parts(0, "live\nusage 3 4\n"))
				b := serve(t, t.TempDir(), m, nil, NewReplay(player(t, recorded.dir), test.onMiss, live.blocks["main"].Upstream))
				var got []string
				for _, text := range []string{"a", "b", "c"} {
					resp, body := b.ask(toyRequest{Model: "small", Max: 10, Text: text})
					if word, _, _ := strings.Cut(body, "\n"); resp.StatusCode == 200 {
						got = append(got, word)
					} else {
						got = append(got, fmt.Sprint(resp.StatusCode))
					}
				}
				if text := strings.Join(got, ", "); text != test.want {
					t.Errorf("got %s", text)
				}
				e := b.events()[1]
				if test.onMiss == Fail && (e.Refused != dialect.NoRecording || e.Cost != 0) || test.onMiss != Fail && (e.Diverged == "" || e.Replayed) {
					t.Errorf("recorded %+v", e)
				}
			})
		})
	}
}

// TestResume: a try that goes on from an earlier one pays what is new only, and
// the budget is that of both together.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, m := t.TempDir(), toyModel()
		run := NewPool(Limits{Cost: Dollar})
		m.BaseURL = "http://provider.local/api/v1"
		wire := listen()
		server := &http.Server{Handler: says(3, 4)}
		go func() { _ = server.Serve(wire) }()
		defer server.Close()
		m.Prices = map[string]Price{"*": {Rates: Rates{Input: 1000 * Dollar, Output: 2000 * Dollar}, MaxOutput: 4}}
		small := m
		small.Budget = Limits{Cost: Dollar}
		first := startAt(t, dir, small, run, wire.Dial)
		_, _ = first.ask(toyRequest{Model: "small", Text: "a"})
		_, _ = first.ask(toyRequest{Model: "small", Text: "b"})
		first.stop()
		if err := os.Rename(filepath.Join(dir, "transcript"), filepath.Join(dir, "old")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, "x", "transcript"), os.DirFS(filepath.Join(dir, "old"))); err != nil {
			t.Fatal(err)
		}
		second := serve(t, dir, small, run, NewReplay(player(t, filepath.Join(dir, "x")), Resume, first.blocks["main"].Upstream))
		for _, text := range []string{"a", "b", "c"} {
			if resp, body := second.ask(toyRequest{Model: "small", Text: text}); resp.StatusCode != 200 {
				t.Errorf("%s: %d %s", text, resp.StatusCode, body)
			}
		}
		events := second.events()
		if !events[0].Replayed || !events[1].Replayed || events[2].Diverged == "" || events[1].Cost != int64(reportedCost) {
			t.Errorf("%+v", events)
		}
		if s := second.Summary()[0]; s.Cost != 3*reportedCost || s.Replayed != 2 || s.Tokens != 21 {
			t.Errorf("%+v", s)
		}
		if spent, _ := run.Spent(); spent.Cost != 3*reportedCost {
			t.Errorf("the run spent %+v", spent)
		}
	})
}

// TestReplayRefusesWhatTheBudgetRefused: a replay runs out of its budget where
// the recording did.
func TestReplayRefusesWhatTheBudgetRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.Budget = Limits{Cost: Dollar / 10}
		recorded := start(t, m, nil, says(57, 10))
		ask := func(b *bench) (got []int) {
			for _, text := range []string{"a", "b"} {
				resp, _ := b.ask(toyRequest{Model: "small", Max: 10, Text: text})
				got = append(got, resp.StatusCode)
				synctest.Wait()
			}
			b.stop()
			return got
		}
		want := ask(recorded)
		again := serve(t, t.TempDir(), m, nil, NewReplay(player(t, recorded.dir), Fail, nil))
		if got := ask(again); fmt.Sprint(got) != fmt.Sprint(want) || got[1] != 402 {
			t.Errorf("replayed %v, recorded %v", got, want)
		}
	})
}
