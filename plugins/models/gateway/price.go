package gateway

import (
	"math/bits"

	"github.com/mleflow/mleflow/plugins/models/dialect"
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

// ToolCost returns the part of Cost that is due to tool calls, rounded up.
func (p Price) ToolCost(c dialect.ToolCalls) Dollars {
	var s sum
	p.addTools(&s, c.Of)
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

// MostTools returns the maximum price of these numbers of tool calls.
func (p Price) MostTools(calls map[dialect.Tool]int64) Dollars {
	var s sum
	p.addTools(&s, func(t dialect.Tool) int64 { return calls[t] })
	return s.total()
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
