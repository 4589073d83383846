package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// searchServer replies to Anthropic's messages: it searches as often as calls
// says, and uses 100 tokens of input and 10 of output.
func searchServer(calls func() int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := calls()
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(string(body), `"stream":true`) {
			fmt.Fprintf(w, `{"type":"message","usage":{"input_tokens":100,"output_tokens":10,"server_tool_use":{"web_search_requests":%d,"web_fetch_requests":0}}}`, n)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}\n\n"+
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":10,\"server_tool_use\":{\"web_search_requests\":%d}}}\n\n"+
			"data: {\"type\":\"message_stop\"}\n\n", n)
	})
}

// searches is a gateway for a model of Anthropic that may search the web.
func searches(t *testing.T, l Limits, prices map[string]Price, calls func() int) *bench {
	wire := listen()
	server := &http.Server{Handler: searchServer(calls)}
	go func() { _ = server.Serve(wire) }()
	t.Cleanup(func() { _ = server.Close() })
	m := Model{
		Name: "main", Provider: "anthropic", BaseURL: "http://provider.local", Models: []string{"claude-opus-4-5"}, Prices: prices,
		Budget: l, Grants: dialect.Grants{dialect.WebSearch: true},
	}
	transport := NewTransport()
	transport.Proxy, transport.DialContext = nil, wire.Dial
	t.Cleanup(transport.CloseIdleConnections)
	d := dialect.Named("anthropic")
	up, err := NewProvider(&m, d, realKey, transport)
	if err != nil {
		t.Fatal(err)
	}
	return serveDialect(t, t.TempDir(), m, d, up)
}

// search sends a request with the tool, and returns status and body.
func (b *bench) search(extra, tool string) (int, string) {
	body := `{"model":"claude-opus-4-5","max_tokens":10,` + extra + `"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"web_search"` + tool + `}]}`
	r, _ := http.NewRequest(http.MethodPost, "http://gateway/main/v1/messages", strings.NewReader(body))
	r.Header.Set("X-Api-Key", virtualKey)
	r.Header.Set("Content-Type", "application/json")
	resp, err := b.client.RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestSearchesAreCharged: claude-opus-4-5 costs 5 and 25 USD per million tokens,
// a thousand searches 10 USD.
func TestSearchesAreCharged(t *testing.T) {
	const tokens = 100*5_000 + 10*25_000 // billionths of a dollar
	b := searches(t, Limits{}, nil, func() int { return 3 })
	for _, extra := range []string{"", `"stream":true,`} {
		if status, text := b.search(extra, ""); status != 200 {
			t.Fatal(status, text)
		}
	}
	events := b.events()
	s := b.Summary()[0]
	if want := 2 * (tokens + 3*10_000_000); int64(s.Cost) != int64(want) || s.Usage.ToolCalls.WebSearch != 6 {
		t.Errorf("%d charged, want %d; %+v", s.Cost, want, s.Usage)
	}
	for _, e := range events {
		if e.ToolCost != 30_000_000 || e.Cost != tokens+30_000_000 || e.Usage.ToolCalls.WebSearch != 3 || e.UnpricedCalls != 0 {
			t.Errorf("%+v", e)
		}
	}
}

// TestSearchesNeedABound: where cost is limited, a request without a bound is
// refused, unless the pipeline gives one; and so is a tool without a price.
func TestSearchesNeedABound(t *testing.T) {
	own := map[string]Price{"*": {Rates: Rates{Input: Dollar, Output: Dollar}, MaxInput: 1000}}
	for name, c := range map[string]struct {
		limits Limits
		prices map[string]Price
		tool   string
		status int
		say    string
	}{
		"no bound":              {Limits{Cost: 100 * Dollar}, nil, "", 400, "max_uses"},
		"bound of the request":  {Limits{Cost: 100 * Dollar}, nil, `,"max_uses":5`, 200, ""},
		"bound of the pipeline": {Limits{Cost: 100 * Dollar, ToolCalls: 5}, nil, "", 200, ""},
		"no limit of cost":      {Limits{Tokens: 1 << 40}, nil, "", 200, ""},
		"more than is left":     {Limits{Cost: Dollar + 20*Dollar}, nil, `,"max_uses":2001`, 402, "money"},
		"no price":              {Limits{Cost: Dollar}, own, `,"max_uses":5`, 403, "tool_calls of a price block"},
		"no price, no limit":    {Limits{}, own, "", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := searches(t, c.limits, c.prices, func() int { return 2 })
			status, text := b.search("", c.tool)
			if status != c.status || !strings.Contains(text, c.say) {
				t.Errorf("%d %s, want %d", status, text, c.status)
			}
			if e := b.events(); name == "no price, no limit" && e[0].UnpricedCalls != 2 {
				t.Errorf("%+v", e[0])
			}
		})
	}
}

// TestSearchesDoNotOverspend sends 64 requests at once, each of which may search
// as often as it says.
func TestSearchesDoNotOverspend(t *testing.T) {
	var n atomic.Int64
	b := searches(t, Limits{Cost: 3 * Dollar}, nil, func() int { return int(n.Add(1)%8) + 1 })
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() { b.search("", `,"max_uses":8`) })
	}
	group.Wait()
	if s := b.Summary()[0]; s.Cost > 3*Dollar || s.Exceeded != 0 || s.Usage.ToolCalls.WebSearch == 0 {
		t.Errorf("%+v", s)
	}
}
