package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTooDear: a request that the budget can never cover is told what it needs,
// what is left, and what makes it cheaper.
func TestTooDear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.Budget = Limits{Cost: Dollar}
		m.Prices["*"] = Price{Rates: Rates{Input: 1000 * Dollar, Output: 2000 * Dollar}, MaxOutput: 5000}
		b := start(t, m, nil, says(3, 4))
		resp, text := b.ask(toyRequest{Model: "small"})
		for _, want := range []string{"it needs up to 10.0", " USD, and 1 USD is left", "counts with 5000 tokens", "max_output_tokens"} {
			if resp.StatusCode != 402 || !strings.Contains(text, want) {
				t.Errorf("%q is missing: %d %s", want, resp.StatusCode, text)
			}
		}
	})
}

// TestFutile: an agent that only repeats what is refused is given up, one that
// asks for something else is not.
func TestFutile(t *testing.T) {
	for _, c := range []struct {
		name  string
		pause time.Duration
		other bool // asks for what passes in between
		grows bool // asks for more each time
		first bool // something passed before
		want  bool
	}{
		{name: "the same again and again", pause: 5 * time.Second, want: true},
		{name: "after something passed", pause: 5 * time.Second, first: true, want: true},
		{name: "all at once", pause: time.Millisecond},
		{name: "with others that pass", pause: 5 * time.Second, other: true},
		{name: "never one that passes", pause: 5 * time.Second, grows: true, want: true},
		{name: "others each time", pause: 5 * time.Second, grows: true, first: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := toyModel()
				m.Budget = Limits{Cost: 10 * Dollar}
				b := start(t, m, nil, says(1, 1))
				if c.first {
					_, _ = b.ask(toyRequest{Model: "small", Max: 1})
				}
				for i := range int64(30) {
					ask := toyRequest{Model: "small", Max: 100_000}
					if c.grows {
						ask.Max += i
					}
					if resp, _ := b.ask(ask); resp.StatusCode != 402 {
						t.Fatalf("status %d", resp.StatusCode)
					}
					if c.other && i%10 == 9 {
						_, _ = b.ask(toyRequest{Model: "small", Max: 1})
					}
					time.Sleep(c.pause)
				}
				if got := b.Futile(); (got != "") != c.want || c.want && !strings.Contains(got, "30 requests in a row did not fit into the budget (main: cost)") {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}
