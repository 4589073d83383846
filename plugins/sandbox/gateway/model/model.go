package model

import (
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/gateway/dialect"
)

// Model is one model block of a pipeline.
type Model struct {
	// Name is the block's label, Provider the name of a dialect.
	Name     string
	Provider string
	// BaseURL is the endpoint; the dialect's own if it is empty.
	BaseURL string
	// Models are the patterns ("gpt-5*") of the models that may be asked for.
	Models []string
	// Grants are the provider-side abilities that may be used.
	Grants dialect.Grants
	// Prices are those of the pipeline, by pattern; they go before the table's.
	Prices map[string]Price
	// Budget bounds each attempt.
	Budget Limits
	Retry  Retry
}

// Price is in US dollars per million tokens. A nil field is the price of the
// kind that it is a part of: CacheRead and CacheWrite of Input, Reasoning of
// Output.
type Price struct {
	Input, Output         Dollars
	CacheRead, CacheWrite *Dollars
	CacheWriteHour        *Dollars
	// MaxOutput is the most tokens that one response may have; the limit of a
	// request that sets none.
	MaxOutput int64
}

// Dollars is an amount of money in billionths of a US dollar: exact sums, no
// rounding but in prices of single tokens, which round up.
type Dollars int64

// Limits are the budget of an attempt or of a run; a zero field is no limit.
type Limits struct {
	Cost     Dollars
	Tokens   int64
	Requests int64
	// PerMinute and Concurrent bound the rate: more are refused with the time
	// after which the client may retry, and nothing of the budget is lost.
	PerMinute  int
	Concurrent int
}

// Retry is what the gateway itself repeats, before the first byte of a response
// has reached the client. The zero value passes every failure through.
type Retry struct {
	// Attempts is how often a request is sent at most, Longest the longest wait
	// between two.
	Attempts int
	Longest  time.Duration
}
