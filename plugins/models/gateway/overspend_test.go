package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// cashier is a provider that keeps its own books, and fails in many ways. It
// never uses more than a request allows, since that is what providers promise.
type cashier struct {
	mu  sync.Mutex
	rng *rand.Rand
	// charged is the truth: what the provider bills.
	charged  Dollars
	requests int
}

func (c *cashier) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	kind, delay := c.rng.IntN(12), time.Duration(c.rng.IntN(3000))*time.Millisecond
	share, bill := c.rng.Float64(), c.rng.IntN(2) == 0
	c.mu.Unlock()
	if err := progress.Sleep(r.Context(), delay); err != nil && kind != 3 {
		return nil, err // nothing was sent yet
	}
	if kind == 0 {
		return nil, errors.New("connection refused")
	}
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	body, _ := io.ReadAll(r.Body)
	var asked toyRequest
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	limit := asked.Max
	if limit == 0 {
		limit = 100
	}
	limit *= max(asked.N, 1)
	in, out := int64(share*float64(len(body))), int64(share*float64(limit))
	if share > 0.9 {
		in, out = int64(len(body)), limit
	}
	charge := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests++
		c.charged += Dollars(in)*Dollar/10_000 + Dollars(out)*2*Dollar/10_000
	}
	usage := fmt.Sprintf("usage %d %d\n", in, out)
	text := strings.Repeat("word ", 50) + "\n" + usage
	reply := func(status int, body io.Reader) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), Request: r}
	}
	switch kind {
	case 1: // reset after the request was sent: billed or not, nobody knows
		if bill {
			charge()
		}
		return nil, errors.New("connection reset")
	case 2: // an error, which is not billed
		return reply([]int{400, 429, 500, 503, 529}[c.pick(5)], strings.NewReader("error\n")), nil
	case 3: // the answer never comes, and is billed all the same
		charge()
		<-r.Context().Done()
		return nil, r.Context().Err()
	case 4: // cut before the usage
		charge()
		return reply(200, io.MultiReader(strings.NewReader("word word"), broken{errCut})), nil
	case 5: // ends early, in good order
		charge()
		return reply(200, strings.NewReader("word word\n")), nil
	case 6: // drips
		charge()
		return reply(200, &drip{r.Context(), text}), nil
	}
	charge()
	return reply(200, strings.NewReader(text)), nil
}

func (c *cashier) pick(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

// drip gives a text in parts.
type drip struct {
	ctx  context.Context
	text string
}

func (d *drip) Read(p []byte) (int, error) {
	if d.text == "" {
		return 0, io.EOF
	}
	if err := progress.Sleep(d.ctx, 200*time.Millisecond); err != nil {
		return 0, err
	}
	n := copy(p, d.text[:min(40, len(d.text))])
	d.text = d.text[n:]
	return n, nil
}

// TestNeverOverspends sends requests of 64 clients at once against a budget of a
// dollar, to a provider that fails in many ways, with clients that leave, and a
// gateway that is killed and opened again in between. The provider's own books
// never show more than the budget.
func TestNeverOverspends(t *testing.T) {
	schedules := 25
	if os.Getenv("MLEFLOW_PROOFS") != "" {
		schedules = 1000
	}
	passed, refused := 0, 0
	for seed := range schedules {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(seed), 15))
			m := toyModel()
			m.BaseURL = "http://provider.local"
			m.Prices["*"] = Price{Rates: Rates{Input: 100 * Dollar, Output: 200 * Dollar}, MaxOutput: 100}
			m.Budget = Limits{Cost: Dollar}
			m.Retry = Retry{Attempts: 1 + rng.IntN(4), Longest: time.Second}
			var run *Pool
			limit := Dollar
			switch seed % 4 {
			case 1:
				m.Budget.Tokens, m.Budget.Requests = 7000, 80
			case 2: // the run's is the tighter one
				run, limit = NewPool(Limits{Cost: Dollar / 2}), Dollar/2
			case 3:
				m.Budget.PerMinute, m.Budget.Concurrent = 30, 8
			}
			bank := &cashier{rng: rand.New(rand.NewPCG(uint64(seed), 16))}
			dir := t.TempDir()
			for life := range 2 {
				if life == 1 && run != nil {
					run = NewPool(run.limits) // another process
				}
				p, r := oneLife(t, dir, m, run, bank, rng)
				passed, refused = passed+p, refused+r
				if bank.charged > limit {
					t.Fatalf("schedule %d: the provider bills %s of %s", seed, bank.charged, limit)
				}
			}
			g, err := New(Options{Dir: dir, Blocks: []Block{{Model: m, Dialect: toy{}, Virtual: "k", Upstream: &Replay{}}}})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			s := g.Summary()[0]
			if s.Cost < bank.charged || s.Cost > limit || s.Exceeded > 0 {
				t.Fatalf("schedule %d: billed %s, charged %s: %+v", seed, bank.charged, s.Cost, s)
			}
			if spent, _ := g.blocks["main"].pool.Spent(); m.Budget.passed(spent) != "" {
				t.Fatalf("schedule %d: %+v of %+v", seed, spent, m.Budget)
			}
		})
	}
	t.Logf("%d schedules: %d requests passed, %d were refused", schedules, passed, refused)
	if passed < schedules*5 || refused < schedules*5 {
		t.Error("too few of one kind: the test shows little")
	}
}

// oneLife serves one process's worth of requests. Its ledger is left as a kill
// would leave it.
func oneLife(t *testing.T, dir string, m Model, run *Pool, bank *cashier, rng *rand.Rand) (passed, refused int) {
	up, err := NewProvider(&m, toy{}, realKey, bank)
	if err != nil {
		t.Fatal(err)
	}
	record, err := transcript.Open(filepath.Join(dir, "transcript"), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	g, err := New(Options{Dir: dir, Transcript: record, Blocks: []Block{{Model: m, Dialect: toy{}, Virtual: virtualKey, Real: realKey, Upstream: up, Run: run}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ledger := filepath.Join(dir, "budget.jsonl")
	killed := time.Duration(rng.IntN(8000)) * time.Millisecond
	var snapshot []byte
	var billed Dollars
	var all sync.WaitGroup
	var count sync.Mutex
	all.Go(func() {
		time.Sleep(killed)
		synctest.Wait() // everything that follows now follows after the kill
		bank.mu.Lock()
		billed = bank.charged
		bank.mu.Unlock()
		snapshot, _ = os.ReadFile(ledger)
	})
	for range 64 {
		ask := toyRequest{Model: "small", Max: rng.Int64N(40), N: rng.Int64N(3), Text: strings.Repeat("x", rng.IntN(60))}
		times, patience, wait := 1+rng.IntN(3), time.Duration(rng.IntN(20000))*time.Millisecond, time.Duration(rng.IntN(2000))*time.Millisecond
		all.Go(func() {
			for range times {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				status := call(ctx, g, ask)
				cancel()
				count.Lock()
				if status == 402 || status == 429 {
					refused++
				} else {
					passed++
				}
				count.Unlock()
				time.Sleep(wait)
			}
		})
	}
	all.Wait()
	// What the ledger said when it was killed covers what was billed by then.
	if err := os.WriteFile(filepath.Join(dir, "killed"), snapshot, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := openLedger(filepath.Join(dir, "killed"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if spent := l.summary("main").Cost; spent < billed || m.Budget.Cost > 0 && spent > m.Budget.Cost {
		t.Fatalf("killed after %s: billed %s, charged %s", killed, billed, spent)
	}
	return passed, refused
}

// call calls the gateway without a connection.
func call(ctx context.Context, g *Gateway, ask toyRequest) (status int) {
	body, _ := json.Marshal(ask)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/main/v1/ask", strings.NewReader(string(body)))
	r.Header.Set("Authorization", "Bearer "+virtualKey)
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic's value
			panic(p)
		}
		status = w.Code
	}()
	g.ServeHTTP(w, r)
	return w.Code
}
