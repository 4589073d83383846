package dialect

import (
	"io"
	"net/http"
	"net/url"
	"slices"
)

// Dialect is one provider's protocol. Its methods may be used by several
// goroutines.
type Dialect interface {
	// Name is what pipelines call the provider: "openai", "anthropic", "gemini".
	Name() string
	// BaseURL is the provider's public endpoint, as its clients write it.
	BaseURL() string
	// Variables are the environment variables by which the provider's clients
	// find an endpoint and a key. The endpoint is the address that stands for
	// the root of BaseURL's host; the dialect adds BaseURL's path if its clients
	// expect it.
	Variables(endpoint, key string) map[string]string
	// Read understands a request. An error is a *Refusal.
	Read(in Incoming, grants Grants) (*Request, error)
	// Key returns the key that a client presents, "" if none, and SetKey
	// puts it where the provider expects it and nowhere else. A client that
	// presents two different keys presents none.
	Key(header http.Header, query url.Values) string
	SetKey(header http.Header, query url.Values, key string)
	// Error is a refusal in the form that the provider's clients understand.
	Error(r Refusal) (status int, header http.Header, body []byte)
	// KeyPrefix is what the provider's keys begin with, for clients that check it.
	KeyPrefix() string
	// Usage returns a meter of the response to a request.
	Usage(r *Request) Meter
	// Canonical is the body of a request without what differs between two
	// identical runs, split into the parts that a conversation consists of: what
	// stays the same in a conversation first, then each message.
	Canonical(operation string, body []byte) (Canonical, error)
}

var dialects = []Dialect{newOpenAI(), newAnthropic(), newGemini()}

// All returns the dialects.
func All() []Dialect { return slices.Clone(dialects) }

// Named returns the dialect of that name, nil if there is none.
func Named(name string) Dialect {
	for _, d := range dialects {
		if d.Name() == name {
			return d
		}
	}
	return nil
}

// Operation names what a request asks for, in the dialect's own words.
type Operation string

// Incoming is a request of a client. The path begins after the endpoint and, like
// the query, is as the client sent it; the body is whole and decoded.
type Incoming struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
}

// Request is a request that was understood.
type Request struct {
	Operation Operation
	// Model is the model that is asked for, "" if the operation has none.
	Model string
	// Stream says that the response is a stream of server-sent events.
	Stream bool
	// Free says that the provider charges nothing for the operation, such as
	// counting tokens or listing models.
	Free bool
	// Header and Query are those of the client that are forwarded: the ones whose
	// meaning is known, and no key.
	Header http.Header
	Query  url.Values
	// Body is what is forwarded, Changed what in it is not the client's.
	Body    []byte
	Changed []string
	// InputTokens is an upper bound of the tokens of the input: no tokenizer
	// makes more of these bytes, what images count included.
	InputTokens int64
	// OutputTokens is the limit of the output that the request sets for each of
	// Choices; 0 if it sets none.
	OutputTokens int64
	Choices      int64
	// Hidden says that the input may have more tokens than InputTokens: what an
	// ability that is granted finds, or what a PDF, an audio file or a video
	// holds. Then only the model's context window is a bound.
	Hidden bool
	// Tools are the provider's own tools that it may call, with the most calls
	// that the request allows of each; 0 if it sets no limit.
	Tools map[Tool]int64
	// Unmetered says that no response to the request tells what it costs, as
	// with batches and training.
	Unmetered bool
}

// Grants are the provider-side abilities that the pipeline allows.
type Grants map[Ability]bool

// Reason is the class of a refusal; the provider's clients expect another error
// for each.
type Reason string

// The reasons of refusals.
const (
	// BadKey: the key is missing or wrong (401).
	BadKey Reason = "bad_key"
	// BadRequest: the request cannot be understood (400).
	BadRequest Reason = "bad_request"
	// NotAllowed: a path, model or ability that the pipeline does not grant (403).
	NotAllowed Reason = "not_allowed"
	// TooLarge: the body is larger than the gateway takes (413).
	TooLarge Reason = "too_large"
	// RateLimited: too many requests at the moment; the client may retry (429).
	RateLimited Reason = "rate_limited"
	// OverBudget: the budget is exhausted; a retry does not help (402 or 429, as
	// the provider's clients give up on it soonest).
	OverBudget Reason = "over_budget"
	// Unreachable: the provider did not answer (502).
	Unreachable Reason = "unreachable"
	// NoRecording: a replay has no answer to this request (409).
	NoRecording Reason = "no_recording"
)

// Refusal is an error that the client sees.
type Refusal struct {
	Reason Reason
	// Ability is what was not granted, "" if it is not about one.
	Ability Ability
	// Text says what was refused and who can change that.
	Text string
	// RetryAfter is for RateLimited, in seconds; 0 says nothing.
	RetryAfter int
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// Usage is what a response reports of tokens and tools. Input includes CacheRead and
// CacheWrite, Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens,omitempty"`
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	// CacheWriteHour are those of CacheWrite that are kept for an hour.
	CacheWriteHour int64 `json:"cache_write_hour_tokens,omitempty"`
	// Audio are those of Input, but not of CacheRead, that are sound.
	Audio     int64 `json:"audio_tokens,omitempty"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_tokens,omitempty"`
	// ToolCalls are the calls of the provider's own tools, which it charges for
	// besides their tokens.
	ToolCalls ToolCalls `json:"tool_calls,omitzero"`
}

// Meter reads a response as it passes, decoded (without content encoding), and
// finds the usage in it. It never fails and holds a bounded amount of memory.
type Meter interface {
	io.Writer
	// Usage returns the final usage. ok is false if the response, as far as it
	// was seen, reports none; u is then what it reported so far. Of each count
	// that a response repeats, the greatest is taken.
	Usage() (u Usage, ok bool)
	// Done reports whether the response ended as the protocol demands: a whole
	// JSON value, or a stream with its final event.
	Done() bool
	// Failed returns the error that the provider reports within a response, "" if
	// none.
	Failed() string
	// Progress returns how far the response has come.
	Progress() Progress
}

// Progress is how far a response has come.
type Progress struct {
	// Text is the bytes of what the model wrote. No tokenizer makes more tokens of
	// it; thoughts that are not shown are not in it.
	Text int64
	// Reported says that some usage was reported, be it not the final one.
	Reported bool
	// Begun says that it is an answer or an error, and no longer only comments and
	// the events that announce an answer.
	Begun bool
	// Status is the HTTP status that the error of Failed stands for, 0 without one.
	Status int
}

// Canonical is a request without what differs from run to run.
type Canonical struct {
	// Fixed is what a conversation repeats in each request: the model, the
	// settings, the tools.
	Fixed []byte
	// Parts are the messages, in order.
	Parts []Part
}

// Part is one message of a conversation.
type Part struct {
	// Role is who speaks: system, user, assistant, tool.
	Role string
	// Text is the canonical form of the message.
	Text []byte
}
