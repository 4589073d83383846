package transcript

import (
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// Event is one exchange, complete or refused. Durations are in seconds, money in
// billionths of a US dollar.
type Event struct {
	// Sequence numbers the exchanges of the attempt from 1, in order of
	// arrival.
	Sequence int       `json:"sequence"`
	Time     time.Time `json:"time"`
	// Model is the name of the model block and Provider its dialect. Asked is
	// the requested model. Path is the path of the request.
	Model     string            `json:"model"`
	Provider  string            `json:"provider"`
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Operation dialect.Operation `json:"operation,omitempty"`
	Asked     string            `json:"asked,omitempty"`
	// Answered is the model that answered, where the response names another one.
	Answered string   `json:"answered,omitempty"`
	Stream   bool     `json:"stream,omitempty"`
	Changed  []string `json:"changed,omitempty"`
	// Status is the status that the client received, or 0 if it left before.
	Status int `json:"status"`
	// Refused is the gateway's reason for a refusal, Ability the ability in
	// question.
	Refused dialect.Reason  `json:"refused,omitempty"`
	Ability dialect.Ability `json:"ability,omitempty"`
	// Failed describes a failure on the way, such as an unreachable server or a
	// cut stream.
	Failed string `json:"failed,omitempty"`
	Interruption
	Charge
	// Seconds is the total time and FirstByte the time to the first byte of the
	// body. Waited is the part of the total that was lost to the provider's
	// errors and to pauses before retries.
	Seconds   float64   `json:"seconds"`
	FirstByte float64   `json:"first_byte_seconds,omitempty"`
	Waited    float64   `json:"waited_seconds,omitempty"`
	Attempts  []Attempt `json:"attempts,omitempty"`
	Replay
	// Masked reports that a secret in the response is recorded as "***". The client
	// received it, unless the response is itself a recording.
	Masked bool `json:"masked,omitempty"`
	// Diverged explains why this request had no recording, if the replay went
	// live.
	Diverged string `json:"diverged,omitempty"`
	// Headers are the response headers that a client may need.
	Headers map[string]string `json:"headers,omitempty"`
	// Request and Response are the bodies, as ranges of requests.bin and
	// responses.bin. Content encoding is removed.
	Request  Body `json:"request"`
	Response Body `json:"response"`
}

// Interruption is who ended an exchange too early, if anybody did.
type Interruption struct {
	// Gone reports that the client left before the end. Cut reports that the
	// provider's connection broke before the end.
	Gone bool `json:"gone,omitempty"`
	Cut  bool `json:"cut,omitempty"`
}

// Charge is what an exchange costs.
type Charge struct {
	// Cost and Tokens are the charges to the budget. If Reported is set, they
	// follow from Usage, which the provider reported. If Estimated is set, Usage
	// is what was assumed: the length of the response, or the reservation.
	// Otherwise they are zero, as for a failure of the provider. Exceeded
	// reports that the response used more than its reservation.
	Reported  bool           `json:"reported,omitempty"`
	Estimated bool           `json:"estimated,omitempty"`
	Exceeded  bool           `json:"exceeded,omitempty"`
	Usage     *dialect.Usage `json:"usage,omitempty"`
	Cost      int64          `json:"cost_nanodollars,omitempty"`
	Tokens    int64          `json:"tokens,omitempty"`
	// ListCost is what Usage costs by the price list of mleflow, or nil if the
	// list does not know the model. Cost follows from the pipeline's own prices
	// where it has some.
	ListCost *int64 `json:"list_cost_nanodollars,omitempty"`
	// ToolCost is the part of Cost that the provider charges for calls of its
	// own tools. UnpricedCalls counts the calls in Usage without a known price,
	// which Cost does not include.
	ToolCost      int64 `json:"tool_cost_nanodollars,omitempty"`
	UnpricedCalls int64 `json:"unpriced_calls,omitempty"`
}

// Replay says whether the response is a recorded one.
type Replay struct {
	// Replayed reports that the response is that of exchange Recording in the
	// recorded transcript. Normalised reports that the requests matched only
	// without times, durations and the like; see Player.
	Replayed   bool `json:"replayed,omitempty"`
	Recording  int  `json:"recording,omitempty"`
	Normalised bool `json:"normalised,omitempty"`
}

// Attempt is a failed attempt before the final one.
type Attempt struct {
	Status     int     `json:"status,omitempty"`
	Failed     string  `json:"failed,omitempty"`
	RetryAfter float64 `json:"retry_after_seconds,omitempty"`
	Seconds    float64 `json:"seconds"`
}

// Body is a list of ranges of a file, as pairs of offset and length. Dropped is
// the number of bytes that were not kept.
type Body struct {
	Pieces  [][2]int64 `json:"pieces,omitempty"`
	Dropped int64      `json:"dropped,omitempty"`
}

// Size returns the number of bytes that were kept.
func (b Body) Size() int64 {
	var sum int64
	for _, p := range b.Pieces {
		sum += p[1]
	}
	return sum
}
