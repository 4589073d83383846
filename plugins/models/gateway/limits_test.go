package gateway

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.Budget = Limits{Cost: Dollar, Requests: 3, PerMinute: 60}
		b := start(t, m, NewPool(Limits{Cost: 5 * Dollar}), says(3, 4))
		_, _ = b.ask(toyRequest{Model: "small", Max: 10})
		synctest.Wait()
		for path, want := range map[string]string{
			"/main/budget": `{"model":"main","cost_usd":{"limit":"1","spent":"0.011","remaining":"0.989"},"tokens":{"limit":null,"spent":7,"remaining":null},"requests":{"limit":3,"spent":1,"remaining":2},"per_minute":60,"run_remaining":{"cost_usd":"4.989","tokens":null,"requests":null}}`,
			"/budget":      `{"models":[{"model":"main","cost_usd":{"limit":"1","spent":"0.011","remaining":"0.989"},"tokens":{"limit":null,"spent":7,"remaining":null},"requests":{"limit":3,"spent":1,"remaining":2},"per_minute":60,"run_remaining":{"cost_usd":"4.989","tokens":null,"requests":null}}]}`,
		} {
			req, _ := http.NewRequest(http.MethodGet, "http://g"+path, nil)
			resp, err := b.client.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if got := strings.TrimSpace(string(body)); got != want {
				t.Errorf("%s: %s", path, got)
			}
		}
	})
}

// TestExhausted: what the budget refuses for good is said, and everything else
// goes on.
func TestExhausted(t *testing.T) {
	for _, run := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := toyModel()
			var pool *Pool
			limits, want := Limits{Cost: Dollar / 10}, "cost"
			if m.Budget = limits; run {
				m.Budget, pool, want = Limits{}, NewPool(limits), "run_cost"
			}
			b := start(t, m, pool, says(57, 10))
			if resp, text := b.ask(toyRequest{Model: "small", Max: 10}); resp.StatusCode != 200 {
				t.Fatalf("got %d %s", resp.StatusCode, text)
			}
			synctest.Wait()
			resp, text := b.ask(toyRequest{Model: "small", Max: 10})
			if resp.StatusCode != 402 || !strings.Contains(text, "money") || resp.Header.Get("Retry-After") != "" {
				t.Errorf("got %d %s %v", resp.StatusCode, text, resp.Header)
			}
			req, _ := http.NewRequest(http.MethodGet, "http://g/main/v1/models", nil)
			req.Header.Set("Authorization", "Bearer "+virtualKey)
			free, err := b.client.RoundTrip(req)
			if err != nil || free.StatusCode != 200 {
				t.Errorf("what is free is refused: %v %v", free, err)
			}
			free.Body.Close()
			b.stop()
			s := b.Summary()[0]
			if len(s.Exhausted) != 1 || s.Exhausted[0] != want || s.Refused[dialect.OverBudget] != 1 || s.Cost != wholeCost {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestUnbounded: what cannot be bounded is refused where a budget must hold.
func TestUnbounded(t *testing.T) {
	m := toyModel()
	m.Prices = map[string]Price{"small": {Rates: Rates{Input: Dollar, Output: Dollar}}}
	m.Models = []string{"*"}
	b := start(t, m, nil, says(1, 1))
	for model, want := range map[string]string{"small": "max_output", "unknown": "price of model"} {
		resp, text := b.ask(toyRequest{Model: model})
		if resp.StatusCode/100 != 4 || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s", model, resp.StatusCode, text)
		}
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Limits{PerMinute: 5})
		var passed []time.Time
		refusedFor := 0
		for range 2000 {
			if s := p.reserve(Amount{Requests: 1}); s == nil {
				passed = append(passed, time.Now())
				p.settle(Amount{Requests: 1}, Amount{Requests: 1}, "")
			} else if refusedFor == 0 {
				// After the time that it names, the request passes.
				refusedFor = s.retry
				time.Sleep(time.Duration(s.retry) * time.Second)
				if again := p.reserve(Amount{Requests: 1}); again != nil {
					t.Fatalf("refused again after %d s", s.retry)
				}
				passed = append(passed, time.Now())
				p.settle(Amount{Requests: 1}, Amount{Requests: 1}, "")
			}
			time.Sleep(777 * time.Millisecond)
		}
		for i := range len(passed) - 5 {
			if passed[i+5].Sub(passed[i]) < time.Minute {
				t.Fatalf("6 requests in %s", passed[i+5].Sub(passed[i]))
			}
		}
		if len(passed) < 120 {
			t.Errorf("only %d passed", len(passed))
		}
	})
}

// TestConcurrent: more requests than may run at once wait a moment and then are
// told to come again.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.Budget = Limits{Concurrent: 2}
		running, most := 0, 0
		var mu sync.Mutex
		b := start(t, m, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			parts(1500*time.Millisecond, good)(w, r)
			mu.Lock()
			running--
			mu.Unlock()
		}))
		statuses := map[int]int{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				status := call(t.Context(), b.Gateway, toyRequest{Model: "small"})
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			})
		}
		all.Wait()
		if most != 2 || statuses[200] != 4 || statuses[429] != 4 {
			t.Errorf("%d at once, %v", most, statuses)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	m := toyModel()
	up := &Replay{}
	for name, blocks := range map[string][]Block{
		"twice":       {{Model: m, Dialect: toy{}, Virtual: "a", Upstream: up}, {Model: m, Dialect: toy{}, Virtual: "a", Upstream: up}},
		"no key":      {{Model: m, Dialect: toy{}, Upstream: up}},
		"no dialect":  {{Model: m, Virtual: "a", Upstream: up}},
		"no upstream": {{Model: m, Dialect: toy{}, Virtual: "a"}},
	} {
		if _, err := New(Options{Dir: t.TempDir(), Blocks: blocks}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for _, key := range []string{" secret", "secret\n", "secret\r\nX: y", "schlüssel"} {
		if _, err := NewProvider(&m, toy{}, key, nil); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("key %q: %v", key, err)
		}
	}
}
