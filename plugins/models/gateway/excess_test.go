package gateway

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// TestProviderPassesTheLimit: what a provider uses beyond the limit of a request
// is charged as it reports it, and said. No later request passes.
func TestProviderPassesTheLimit(t *testing.T) {
	// The request reserves 0.077 dollars; 3 + 818 tokens cost 1.639.
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.Budget = Limits{Cost: Dollar}
		b := start(t, m, nil, says(3, 818))
		if resp, _ := b.ask(toyRequest{Model: "small", Max: 10}); resp.StatusCode != 200 {
			t.Fatalf("status %d", resp.StatusCode)
		}
		if resp, text := b.ask(toyRequest{Model: "small", Max: 1}); resp.StatusCode != 402 {
			t.Errorf("status %d %s", resp.StatusCode, text)
		}
		e, s := b.events()[0], b.Summary()[0]
		if Dollars(e.Cost) != 1639*Dollar/1000 || !e.Exceeded || !e.Reported || s.Exceeded != 1 || !slices.Equal(s.Exhausted, []string{"cost"}) {
			t.Errorf("recorded %+v, %+v", e, s)
		}
	})
	// Without another request, the budget is exhausted all the same.
	synctest.Test(t, func(t *testing.T) {
		m, run := toyModel(), NewPool(Limits{Tokens: 100})
		m.Budget = Limits{Cost: Dollar}
		b := start(t, m, run, says(3, 818))
		_, _ = b.ask(toyRequest{Model: "small", Max: 10})
		b.stop()
		if s := b.Summary()[0]; !slices.Equal(s.Exhausted, []string{"cost", "run_tokens"}) {
			t.Errorf("%+v", s)
		}
	})
}

// TestStreamIsCut: a stream that reports, or has passed, more than the request
// allows goes on as long as the budget has it, and is cut then.
func TestStreamIsCut(t *testing.T) {
	q := asking("stream", true) // 500 tokens of output
	stream := func(upTo, step int, text string) (events []string) {
		for n := step; n <= upTo; n += step {
			events = append(events, data(fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%q}]}}],"usageMetadata":{"promptTokenCount":40,"candidatesTokenCount":%d}}`, text, n)))
		}
		return append(events, generateStream)
	}
	for _, c := range []struct {
		name   string
		budget Limits
		events []string
		most   int64 // tokens that are charged
		cut    bool
	}{
		{"within its limit", Limits{Tokens: 2000}, stream(500, 100, "a"), 540, false},
		{"beyond it, within the budget", Limits{Tokens: 5000}, stream(4000, 100, "a"), 4040, false},
		{"beyond the budget", Limits{Tokens: 5000}, stream(100_000, 100, "a"), 5100, true},
		{"beyond the budget of money", Limits{Cost: Dollar / 10}, stream(100_000, 100, "a"), 10_100, true},
		{"beyond it without a word", Limits{Tokens: 2000}, stream(8000, 2000, strings.Repeat("a", 300_000))[:4], 2400, true},
		{"no budget", Limits{}, stream(100_000, 1000, "a"), 100_040, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.name == "beyond it without a word" {
					for i := range c.events {
						c.events[i] = c.events[i][:strings.Index(c.events[i], `,"usageMetadata"`)] + "}\n\n"
					}
				}
				written := 0
				b := startTold(t, q, c.budget, Retry{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					for _, e := range c.events {
						if progress.Sleep(r.Context(), time.Millisecond) != nil {
							return
						}
						_, _ = io.WriteString(w, e)
						_ = http.NewResponseController(w).Flush()
						written++
					}
				}))
				got := q.send(t, b.client, "http://gateway/main", virtualKey, "identity")
				synctest.Wait()
				e := b.events()[0]
				if got.failed != c.cut || strings.Contains(e.Failed, "was cut") != c.cut || (written == len(c.events)) == c.cut {
					t.Errorf("got %v after %d of %d events: %q", got.failed, written, len(c.events), e.Failed)
				}
				if e.Tokens > c.most || e.Tokens < c.most-200 && !c.cut {
					t.Errorf("charged %d tokens, want %d: %+v", e.Tokens, c.most, e)
				}
				spent, held := b.blocks["main"].pool.Spent()
				if held != (Amount{}) || spent.Tokens != e.Tokens {
					t.Errorf("spent %+v, held %+v, charged %d", spent, held, e.Tokens)
				}
				if s := b.Summary()[0]; (len(s.Exhausted) > 0) != c.cut {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestExcessIsReserved: of a provider that did not keep to a limit, the same
// excess is reserved for each later request, so that several at once do not
// overspend, also after a restart.
func TestExcessIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.Budget = Limits{Cost: Dollar}
		double := func(w http.ResponseWriter, r *http.Request) { says(57, 48)(w, r) } // 0.153 for 0.077
		b := start(t, m, nil, http.HandlerFunc(double))
		_, _ = b.ask(toyRequest{Model: "small", Max: 10})
		b.stop()
		run, err := New(Options{Dir: b.dir, Transcript: b.Gateway.record, Blocks: []Block{b.blocks["main"].Block}})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if got := run.ledger.scaled("main", Amount{77 * Dollar / 1000, 67, 1}); got.Cost < 153*Dollar/1000 || got.Cost > 154*Dollar/1000 || got.Requests != 1 {
			t.Errorf("%+v", got)
		}
		passed := 0
		for range 20 {
			if call(t.Context(), run, toyRequest{Model: "small", Max: 10}) == 200 {
				passed++
			}
		}
		if s := run.Summary()[0]; s.Cost > Dollar || passed < 4 || s.Exceeded != 1 {
			t.Errorf("%d passed: %+v", passed, s)
		}
	})
}

// TestExcessOfTools: a response that calls more tools than were reserved says
// nothing of the next one.
func TestExcessOfTools(t *testing.T) {
	for calls, want := range map[int64]Dollars{0: 2 * Dollar, 3: Dollar} {
		s := newTally("main")
		s.settle(entry{Kind: settled, Amount: &Amount{2 * Dollar, 10, 1}, Reported: true, Usage: &dialect.Usage{ToolCalls: dialect.ToolCalls{WebSearch: calls}}}, Amount{Dollar, 10, 1})
		l := &ledger{tallies: map[string]*tally{"main": s}}
		if got := l.scaled("main", Amount{Dollar, 10, 1}); got.Cost != want || s.Exceeded != 1 {
			t.Errorf("%d calls: %+v", calls, got)
		}
	}
}
