package gateway

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

func TestDollars(t *testing.T) {
	for text, want := range map[string]Dollars{
		"0": 0, "20": 20 * Dollar, "20 USD": 20 * Dollar, "0.125 USD": Dollar / 8, "0.000000001": 1, "1.250": 5 * Dollar / 4,
		"0.0000000010": 1, "900000000": 900_000_000 * Dollar,
	} {
		got, err := ParseDollars(text)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
		if back, err := ParseDollars(got.String()); err != nil || back != got {
			t.Errorf("%q is written %s and read %d, %v", text, got, back, err)
		}
	}
	for _, text := range []string{"", " ", "-1", "+1", "1e3", ".5", "1.", "1,5", "1 EUR", "0.0000000001", "99999999999", "0x1", "NaN"} {
		if got, err := ParseDollars(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
	if text := Dollars(-1_500_000_000).String(); text != "-1.5" {
		t.Error(text)
	}
}

// exact is the cost of a usage by rational numbers, straight from the published
// prices: strings of dollars per million tokens.
func exact(t *testing.T, published map[string]any, u dialect.Usage) *big.Rat {
	rates := published
	for _, one := range asList(published["tiers"]) {
		if tier := one.(map[string]any); float64(u.Input) > tier["above"].(float64) {
			rates = tier
		}
	}
	rate := func(names ...string) *big.Rat {
		for _, n := range names {
			if s, ok := rates[n].(string); ok {
				r, ok := new(big.Rat).SetString(s)
				if !ok {
					t.Fatalf("price %q", s)
				}
				return r
			}
		}
		return new(big.Rat)
	}
	total := new(big.Rat)
	for _, part := range []struct {
		n int64
		p *big.Rat
	}{
		{u.Input - u.CacheRead - u.CacheWrite - u.Audio, rate("input")},
		{u.CacheRead, rate("cache_read", "input")},
		{u.CacheWrite - u.CacheWriteHour, rate("cache_write", "input")},
		{u.CacheWriteHour, rate("cache_write_hour", "cache_write", "input")},
		{u.Audio, rate("input_audio", "input")},
		{u.Output, rate("output")},
		{1000 * u.ToolCalls.WebSearch, tool(published, "tool_calls", "web_search")},
		{1000 * min(u.ToolCalls.WebSearch, 1), tool(published, "tool_requests", "web_search")},
		{1000 * min(u.ToolCalls.Maps, 1), tool(published, "tool_requests", "google_maps")},
		{1000 * u.ToolCalls.FileSearch, published["file_search"].(*big.Rat)},
	} {
		total.Add(total, new(big.Rat).Mul(part.p, big.NewRat(part.n, 1_000_000)))
	}
	return total
}

// tool is the published price of a thousand calls.
func tool(published map[string]any, unit, name string) *big.Rat {
	prices, _ := published[unit].(map[string]any)
	text, _ := prices[name].(string)
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return new(big.Rat)
	}
	return r
}

func asList(v any) []any { l, _ := v.([]any); return l }

// ceil rounds up to billionths.
func ceil(r *big.Rat) int64 {
	n := new(big.Rat).Mul(r, big.NewRat(1_000_000_000, 1))
	q, m := new(big.Int).DivMod(n.Num(), n.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64()
}

// published is the table as it is in the file, read without our types.
func published(t *testing.T) map[string]map[string]map[string]any {
	var file struct {
		Models map[string]map[string]map[string]any
		Tools  map[string]map[string]string
	}
	if err := json.Unmarshal(tableFile, &file); err != nil {
		t.Fatal(err)
	}
	for provider, models := range file.Models {
		for _, facts := range models {
			if text := file.Tools[provider]["web_search"]; text != "" && facts["tool_calls"] == nil {
				facts["tool_calls"] = map[string]any{"web_search": text}
			}
			facts["file_search"] = new(big.Rat)
			if text := file.Tools[provider]["file_search"]; text != "" {
				facts["file_search"].(*big.Rat).SetString(text)
			}
		}
	}
	return file.Models
}

func TestCostEqualsAnIndependentCalculation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	for provider, models := range published(t) {
		for name, facts := range models {
			price, ok := PriceOf(&Model{Provider: provider}, name)
			if !ok {
				t.Fatalf("%s is not found", name)
			}
			for range 200 {
				u := dialect.Usage{Input: r.Int64N(600_000), Output: r.Int64N(200_000)}
				if r.IntN(4) == 0 {
					u.Input = []int64{0, 1, 100_000, 100_001, 200_000, 200_001, 272_000, 272_001}[r.IntN(8)]
				}
				u.CacheRead = r.Int64N(u.Input + 1)
				u.CacheWrite = r.Int64N(u.Input - u.CacheRead + 1)
				u.CacheWriteHour = r.Int64N(u.CacheWrite + 1)
				u.Audio = r.Int64N(u.Input - u.CacheRead - u.CacheWrite + 1)
				u.ToolCalls = dialect.ToolCalls{WebSearch: r.Int64N(30), Maps: r.Int64N(2), FileSearch: r.Int64N(5)}
				cost := price.Cost(u)
				if want := ceil(exact(t, facts, u)); int64(cost) != want {
					t.Fatalf("%s %+v costs %d, want %d", name, u, cost, want)
				}
				if most := plus(price.Most(u.Input, u.Output), price.ToolCost(u.ToolCalls.Of)); cost > most {
					t.Fatalf("%s %+v costs %s, more than the %s at most", name, u, cost, most)
				}
				// Bounds above the truth are bounds, too.
				if most := plus(price.Most(u.Input+r.Int64N(1000), u.Output+r.Int64N(1000)), price.ToolCost(u.ToolCalls.Of)); cost > most {
					t.Fatalf("%s %+v costs %s, more than the %s at most", name, u, cost, most)
				}
				n++
			}
		}
	}
	t.Logf("%d costs", n)
}

func TestCostsSaturate(t *testing.T) {
	p := Price{Rates: Rates{Input: most, Output: most}}
	if got := p.Most(math.MaxInt64, math.MaxInt64); got != most {
		t.Error(got)
	}
	if got := p.Cost(dialect.Usage{Input: math.MaxInt64, Output: 1, CacheRead: math.MaxInt64}); got != most {
		t.Error(got)
	}
	if got := p.Cost(dialect.Usage{Input: -5, Output: -7}); got != 0 {
		t.Errorf("negative usage costs %d", got)
	}
}

func TestTable(t *testing.T) {
	file, err := readTable(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	for provider, models := range file.Models {
		if len(models) < 10 || file.Pages[provider] == "" || dialect.Named(provider) == nil {
			t.Errorf("%s: %d models, page %q", provider, len(models), file.Pages[provider])
		}
		for name, p := range models {
			above := int64(0)
			for _, tier := range p.Tiers {
				if tier.Above <= above || tier.Input < p.Input || tier.Output < p.Output {
					t.Errorf("%s: tier %+v", name, tier)
				}
				above = tier.Above
			}
			if p.Input <= 0 || p.Output > 0 && p.MaxOutput <= 0 && !strings.Contains(name, "cyber") && !strings.Contains(name, "rosalind") {
				t.Errorf("%s: %+v", name, p)
			}
			if strings.Contains(name, "search") {
				t.Errorf("%s searches the web by itself", name)
			}
		}
	}
}

func TestPriceOf(t *testing.T) {
	own := func(n Dollars) Price { return Price{Rates: Rates{Input: n}} }
	m := &Model{Provider: "openai", Prices: map[string]Price{"my-*": own(1), "my-big-*": own(2), "gpt-4o-mini": own(3)}}
	for _, test := range []struct {
		name string
		want Dollars
		ok   bool
	}{
		{"my-x", 1, true}, {"my-big-x", 2, true}, {"gpt-4o-mini", 3, true}, {"gpt-4o", 5 * Dollar / 2, true},
		{"gpt-4o-2031-01-02", 5 * Dollar / 2, true}, {"gpt-4o-mini-2031-01-02", 15 * Dollar / 100, true},
		{"gpt-4o-x", 0, false}, {"claude-opus-5", 0, false}, {"", 0, false}, {"-2031-01-02", 0, false},
	} {
		if p, ok := PriceOf(m, test.name); ok != test.ok || p.Input != test.want {
			t.Errorf("%s: %s %v", test.name, p.Input, ok)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "a/b", true}, {"a*", "a", true}, {"a*", "b", false},
		{"*a", "ba", true}, {"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "a-b-c", true}, {"a*b*c", "acb", false},
		{"a*b*b", "ab", false}, {"a**c", "abc", true}, {"", "", true}, {"", "a", false}, {"gpt-5?", "gpt-5a", false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("%q %q: %v", test.pattern, test.name, got)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for _, good := range []string{"https://api.openai.com/v1", "https://llm.lab:8443/api/v1/", "http://127.0.0.1:8000/v1", "http://[::1]:8000", "http://localhost:8000", "http://10.1.2.3/v1", "http://vllm:8000/v1", "http://gpu1.lan/v1"} {
		if err := CheckBaseURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "api.openai.com", "http://api.openai.com/v1", "http://8.8.8.8/v1", "ftp://x", "https://user:pw@x.com", "https://x.com/v1?a=b", "https://x.com/#f", "https://x.com/a%2fb", "https:///v1", "http://169.254.169.254/v1", "unix:///x"} {
		if CheckBaseURL(bad) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
