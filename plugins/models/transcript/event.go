package transcript

import (
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// Event is one exchange, complete or refused. Durations are in seconds, money in
// billionths of a US dollar.
type Event struct {
	// Sequence counts the exchanges of the attempt from 1, by their arrival.
	Sequence int       `json:"sequence"`
	Time     time.Time `json:"time"`
	// Model is the name of the model block, Provider its dialect, Asked the
	// model that the request names, Path what was asked for.
	Model     string            `json:"model"`
	Provider  string            `json:"provider"`
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Operation dialect.Operation `json:"operation,omitempty"`
	Asked     string            `json:"asked,omitempty"`
	Stream    bool              `json:"stream,omitempty"`
	Changed   []string          `json:"changed,omitempty"`
	// Status is the status that the client got; 0 means that it had left before.
	Status int `json:"status"`
	// Refused is the gateway's own reason to refuse, with the Ability that it concerns.
	Refused dialect.Reason  `json:"refused,omitempty"`
	Ability dialect.Ability `json:"ability,omitempty"`
	// Failed says what went wrong on the way: the server was gone, the stream cut.
	Failed string `json:"failed,omitempty"`
	// Gone says that the client left before the end, Cut that the provider's
	// connection broke before it.
	Gone bool `json:"gone,omitempty"`
	Cut  bool `json:"cut,omitempty"`
	// Cost and Tokens are what the budget was charged with. Reported says that
	// they follow from Usage, the provider's own, and Estimated that they follow
	// from the length of a response that the provider ended early; otherwise they
	// are the reservation, or nothing for a failure of the provider. Exceeded says
	// that the response used more than was reserved for it.
	Reported  bool           `json:"reported,omitempty"`
	Estimated bool           `json:"estimated,omitempty"`
	Exceeded  bool           `json:"exceeded,omitempty"`
	Usage     *dialect.Usage `json:"usage,omitempty"`
	Cost      int64          `json:"cost_nanodollars,omitempty"`
	Tokens    int64          `json:"tokens,omitempty"`
	// ToolCost is the part of Cost that the provider charges for calls of its own
	// tools. UnpricedCalls are those of Usage whose price is not known: Cost is
	// without them.
	ToolCost      int64 `json:"tool_cost_nanodollars,omitempty"`
	UnpricedCalls int64 `json:"unpriced_calls,omitempty"`
	// Seconds is the whole time, FirstByte that to the first byte of the body,
	// Waited what of it the provider made the agent wait by errors and pauses
	// before retries.
	Seconds   float64   `json:"seconds"`
	FirstByte float64   `json:"first_byte_seconds,omitempty"`
	Waited    float64   `json:"waited_seconds,omitempty"`
	Attempts  []Attempt `json:"attempts,omitempty"`
	// Replayed says that the response came from a recording: the exchange
	// Recording of the recorded transcript. Normalised says that the requests
	// were equal only without times, durations and the like; see Player.
	Replayed   bool `json:"replayed,omitempty"`
	Recording  int  `json:"recording,omitempty"`
	Normalised bool `json:"normalised,omitempty"`
	// Diverged says, where a replay goes on live, why this request had no
	// recording.
	Diverged string `json:"diverged,omitempty"`
	// Headers are those of the response that its client may need.
	Headers map[string]string `json:"headers,omitempty"`
	// Request and Response are the bodies as they passed, by their ranges in
	// requests.bin and responses.bin. They are decoded: content encoding is the
	// transport's.
	Request  Body `json:"request"`
	Response Body `json:"response"`
}

// Attempt is a failed attempt before the one that was passed on.
type Attempt struct {
	Status     int     `json:"status,omitempty"`
	Failed     string  `json:"failed,omitempty"`
	RetryAfter float64 `json:"retry_after_seconds,omitempty"`
	Seconds    float64 `json:"seconds"`
}

// Body is a body by the ranges of its file that it consists of: pairs of offset
// and length. Dropped is how many bytes of it were not kept.
type Body struct {
	Pieces  [][2]int64 `json:"pieces,omitempty"`
	Dropped int64      `json:"dropped,omitempty"`
}

// Size is the length of what was kept.
func (b Body) Size() int64 {
	var sum int64
	for _, p := range b.Pieces {
		sum += p[1]
	}
	return sum
}
