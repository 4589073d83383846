package gateway

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the table
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Price is the price list of a model.
type Price struct {
	Rates
	// Tiers are the rates of requests with a long input, in ascending order of
	// Above.
	Tiers []Tier `json:"tiers,omitempty"`
	// Services are the prices of service tiers other than the ordinary one. A
	// response that names a tier without prices has the ordinary ones.
	Services map[string]Service `json:"services,omitempty"`
	// MaxOutput is the maximum number of tokens in a response. It bounds a
	// request that sets no limit.
	MaxOutput int64 `json:"max_output,omitempty"`
	// MaxInput is the maximum number of tokens that the model accepts. It
	// bounds an input whose size the request does not show.
	MaxInput int64 `json:"max_input,omitempty"`
	// ToolCalls are the prices of a thousand calls of the provider-side tools.
	// ToolRequests are the prices of a thousand requests that call the tool at
	// all. A tool with neither has no known price.
	ToolCalls    map[dialect.Tool]Dollars `json:"tool_calls,omitempty"`
	ToolRequests map[dialect.Tool]Dollars `json:"tool_requests,omitempty"`
}

// HasTool reports whether the price of a tool is known.
func (p Price) HasTool(t dialect.Tool) bool {
	_, calls := p.ToolCalls[t]
	_, requests := p.ToolRequests[t]
	return calls || requests
}

// Rates are prices in US dollars per million tokens. A nil field has the price
// of the category that it belongs to: Input for CacheRead, CacheWrite and
// InputAudio, and CacheWrite for CacheWriteHour. Reasoning is priced as output.
type Rates struct {
	Input      Dollars  `json:"input"`
	Output     Dollars  `json:"output"`
	CacheRead  *Dollars `json:"cache_read,omitempty"`
	CacheWrite *Dollars `json:"cache_write,omitempty"`
	// CacheWriteHour is for entries kept for an hour or longer.
	CacheWriteHour *Dollars `json:"cache_write_hour,omitempty"`
	InputAudio     *Dollars `json:"input_audio,omitempty"`
}

// Service holds the rates of a service tier.
type Service struct {
	Rates
	Tiers []Tier `json:"tiers,omitempty"`
}

// Tier holds the rates for all tokens of a request with more than Above input
// tokens.
type Tier struct {
	Above int64 `json:"above"`
	Rates
}

func or(d *Dollars, otherwise Dollars) Dollars {
	if d == nil {
		return otherwise
	}
	return *d
}

// Cost returns the price of a usage. It rounds up once, to a billionth of a
// dollar.
func (p Price) Cost(u dialect.Usage) Dollars {
	service := Service{p.Rates, p.Tiers}
	if s, ok := p.Services[u.Tier]; ok {
		service = s
	}
	r := service.Rates
	for _, t := range service.Tiers {
		if u.Input > t.Above {
			r = t.Rates
		}
	}
	hour := min(u.CacheWriteHour, u.CacheWrite)
	write := or(r.CacheWrite, r.Input)
	var s sum
	audio := max(0, min(u.Audio, u.Input-u.CacheRead-u.CacheWrite))
	s.add(u.Input-u.CacheRead-u.CacheWrite-audio, r.Input)
	s.add(audio, or(r.InputAudio, r.Input))
	s.add(u.CacheRead, or(r.CacheRead, r.Input))
	s.add(u.CacheWrite-hour, write)
	s.add(hour, or(r.CacheWriteHour, write))
	s.add(u.Output, r.Output)
	p.addTools(&s, u.ToolCalls.Of)
	return s.total()
}

// unpriced counts the calls without a known price.
func (p Price) unpriced(c dialect.ToolCalls) (n int64) {
	for _, t := range dialect.Tools() {
		if !p.HasTool(t) {
			n += c.Of(t)
		}
	}
	return n
}

// ToolCost returns the price of numbers of calls of tools, such as the part of Cost that
// is due to them, rounded up.
func (p Price) ToolCost(calls func(dialect.Tool) int64) Dollars {
	var s sum
	p.addTools(&s, calls)
	return s.total()
}

func (p Price) addTools(s *sum, calls func(dialect.Tool) int64) {
	for _, t := range dialect.Tools() {
		if n := calls(t); n > 0 {
			s.add(times(n, 1000), p.ToolCalls[t])
			s.add(1000, p.ToolRequests[t])
		}
	}
}

// Most returns the maximum price of the tokens of a request with at most this
// much input and output at ordinary service.
func (p Price) Most(input, output int64) Dollars {
	return Service{p.Rates, p.Tiers}.most(input, output)
}

// MostServed is like Most for the dearest service tier.
func (p Price) MostServed(input, output int64) Dollars {
	worst := p.Most(input, output)
	for _, s := range p.Services {
		worst = max(worst, s.most(input, output))
	}
	return worst
}

func (s Service) most(input, output int64) Dollars {
	worst := s.Rates.most(input, output)
	for _, t := range s.Tiers {
		if input > t.Above {
			worst = max(worst, t.Rates.most(input, output))
		}
	}
	return worst
}

func (r Rates) most(input, output int64) Dollars {
	write := or(r.CacheWrite, r.Input)
	var s sum
	s.add(input, max(r.Input, or(r.CacheRead, r.Input), write, or(r.CacheWriteHour, write), or(r.InputAudio, r.Input)))
	s.add(output, r.Output)
	return s.total()
}

// sum adds products of tokens and prices per million tokens without rounding.
type sum struct {
	whole Dollars
	// parts counts millionths of a billionth of a dollar.
	parts uint64
}

const million = 1_000_000

// add adds n tokens at a price. Negative numbers count as zero.
func (s *sum) add(n int64, price Dollars) {
	high, low := bits.Mul64(uint64(max(n, 0)), uint64(max(price, 0)))
	if high >= million {
		s.whole = most
		return
	}
	quotient, rest := bits.Div64(high, low, million)
	s.whole = plus(s.whole, Dollars(min(quotient, most)))
	s.parts += rest
}

// total returns the sum, rounded up.
func (s *sum) total() Dollars {
	return plus(s.whole, Dollars((s.parts+million-1)/million))
}

//go:embed prices.json
var tableFile []byte

// table is the file of public prices, by provider and model.
type table struct {
	Date          string                      `json:"date"`
	Unit          string                      `json:"unit"`
	CollectedFrom string                      `json:"collected_from"`
	Pages         map[string]string           `json:"pages"`
	Models        map[string]map[string]Price `json:"models"`
	// Tools are the prices of a thousand tool calls that apply to all models of
	// a provider.
	Tools map[string]map[dialect.Tool]Dollars `json:"tools"`
}

var prices = sync.OnceValue(func() *table {
	t, err := readTable(tableFile)
	if err != nil {
		panic(fmt.Sprintf("prices.json: %v", err)) // a test reads it
	}
	return t
})

func readTable(data []byte) (*table, error) {
	t := &table{}
	if err := decode(data, t); err != nil {
		return nil, err
	}
	for provider, models := range t.Models {
		for name, p := range models {
			calls := maps.Clone(t.Tools[provider])
			maps.Copy(calls, p.ToolCalls)
			p.ToolCalls = calls
			models[name] = p
		}
	}
	return t, nil
}

// decode reads JSON into a value that has all of its members.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// TableDigest returns the SHA-256 of the table of prices, which determines
// costs and refusals.
func TableDigest() string {
	sum := sha256.Sum256(tableFile)
	return hex.EncodeToString(sum[:])
}

// PriceOf returns the price of one of a provider's models, from the pipeline or
// the table. A dated version that the table does not list has the price of the
// undated model.
func PriceOf(m *Model, name string) (Price, bool) {
	if own, ok := OwnPrice(m, name); ok {
		return own, true
	}
	known := prices().Models[m.Provider]
	if p, ok := known[name]; ok {
		return p, true
	}
	p, ok := known[dated.Regexp().ReplaceAllString(name, "$1")]
	return p, ok
}

// OwnPrice returns the pipeline's own price of a model, if it has one.
func OwnPrice(m *Model, name string) (Price, bool) {
	best, ok := "", false
	for pattern := range m.Prices {
		if matches(pattern, name) && (!ok || len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, ok = pattern, true
		}
	}
	return m.Prices[best], ok
}

// Listed returns the price of a model by the table alone, whatever the pipeline
// says. Because pipelines and servers give models names of their own, it also
// finds the model behind a path ("openai/gpt-5.5"), a variant ("gpt-5.5:free",
// "GPT-5.5-mine") and another provider's protocol. It returns the name in the
// table, "" if there is none.
func Listed(provider, name string) (Price, string) {
	known := prices().Models
	for name = strings.ToLower(name[strings.LastIndex(name, "/")+1:]); name != ""; {
		for _, p := range append([]string{provider}, slices.Sorted(maps.Keys(known))...) {
			if price, ok := known[p][name]; ok {
				return price, name
			}
		}
		name = name[:max(0, strings.LastIndexAny(name, "-:@"))]
	}
	return Price{}, ""
}

// ListCost returns what the usage of an exchange costs by the table, or nil if
// the table does not know its model. If another model answered than was asked
// for, the dearer one counts.
func ListCost(e transcript.Event) (cost *int64) {
	for _, name := range []string{e.Asked, e.Answered} {
		price, as := Listed(e.Provider, name)
		if as == "" || e.Usage == nil {
			continue
		}
		if one := int64(price.Cost(*e.Usage)); cost == nil || one > *cost {
			cost = &one
		}
	}
	return cost
}

// dated matches a name that ends with a date, such as -2025-04-14 or -20250414.
var dated = pattern.New(`^(.+)-(?:\d{4}-\d\d-\d\d|\d{8})$`)
