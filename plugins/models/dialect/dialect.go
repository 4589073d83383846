package dialect

import (
	"io"
	"net/http"
	"net/url"
)

// Dialect is one provider's protocol. Its methods are safe for concurrent use.
type Dialect interface {
	// Name is the provider's name in pipelines: "openai", "anthropic",
	// "gemini".
	Name() string
	// BaseURL is the provider's public endpoint, as its clients write it.
	BaseURL() string
	// Variables returns the environment variables in which the provider's
	// clients look for an endpoint and a key. The endpoint stands for the root
	// of BaseURL's host. The dialect appends BaseURL's path if its clients
	// expect it.
	Variables(endpoint, key string) map[string]string
	// Read parses a request and checks it against the grants. Its errors are of
	// type *Refusal.
	Read(in Incoming, grants Grants) (*Request, error)
	// Key returns the key that a client presents, or "" if there is none. A
	// client that presents two different keys presents none. SetKey puts a key
	// where the provider expects it and removes any other.
	Key(header http.Header, query url.Values) string
	SetKey(header http.Header, query url.Values, key string)
	// Error encodes a refusal in the form that the provider's clients
	// understand.
	Error(r Refusal) (status int, header http.Header, body []byte)
	// KeyPrefix is the prefix of the provider's keys, for clients that check
	// it.
	KeyPrefix() string
	// Usage returns a meter of the response to a request.
	Usage(r *Request) Meter
	// Canonical returns the body of a request without anything that differs
	// between two identical runs. It is split into the fixed part of the
	// conversation and its messages.
	Canonical(operation string, body []byte) (Canonical, error)
}

// Operation is the dialect's own name for the operation that a request asks
// for.
type Operation string

// Incoming is a client's request. The path is relative to the endpoint. Path
// and query are as the client sent them. The body is complete and decoded.
type Incoming struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
	// Tokens is the kind of server that is asked for token ids, one of
	// TokenServers, or "" for none.
	Tokens string
}

// Request is a request that the dialect understood.
type Request struct {
	Operation Operation
	// Model is the requested model, or "" if the operation has none.
	Model string
	// Stream reports that the response is a stream of server-sent events.
	Stream bool
	// Free reports that the provider charges nothing for the operation, such as
	// counting tokens or listing models.
	Free bool
	// Header and Query are the client's headers and parameters that are
	// forwarded: those with a known meaning, without any key.
	Header http.Header
	Query  url.Values
	// Body is the forwarded body. Changed lists the members that the dialect
	// changed.
	Body    []byte
	Changed []string
	// InputTokens is an upper bound of the input tokens: no tokenizer makes
	// more of this body, images included.
	InputTokens int64
	// OutputTokens is the request's limit of output tokens for each of Choices,
	// or 0 without a limit.
	OutputTokens int64
	Choices      int64
	// Hidden reports that the input may have more tokens than InputTokens, such
	// as the results of a granted ability or the content of a PDF, an audio
	// file or a video. Only the model's context window is a bound then.
	Hidden bool
	// Tools are the provider-side tools that the provider may call, with the
	// request's limit of calls for each, or 0 without a limit.
	Tools map[Tool]int64
	// Unmetered reports that no response to the request states its cost, as
	// with batches and training.
	Unmetered bool
	// Tokens is set if the request asks for token ids or log-probabilities that
	// its client did not ask for.
	Tokens *TokenAsk
}

// Grants are the provider-side abilities that the pipeline allows.
type Grants map[Ability]bool

// Reason is the class of a refusal. The provider's clients expect a different
// error for each.
type Reason string

// The reasons of refusals.
const (
	// BadKey: the key is missing or wrong (401).
	BadKey Reason = "bad_key"
	// BadRequest: the request cannot be understood (400).
	BadRequest Reason = "bad_request"
	// NotAllowed: the pipeline does not grant the path, model or ability (403).
	NotAllowed Reason = "not_allowed"
	// TooLarge: the body exceeds the gateway's limit (413).
	TooLarge Reason = "too_large"
	// RateLimited: too many requests right now; the client may retry (429).
	RateLimited Reason = "rate_limited"
	// OverBudget: the budget is exhausted and a retry does not help. The status
	// is 402 or 429, whichever makes the provider's clients give up sooner.
	OverBudget Reason = "over_budget"
	// Unreachable: the provider did not answer (502).
	Unreachable Reason = "unreachable"
	// NoRecording: a replay has no recorded answer to this request (409).
	NoRecording Reason = "no_recording"
	// NoSocket: the client asks for a WebSocket (426). Clients then use HTTP.
	NoSocket Reason = "no_websocket"
)

// Refusal is an error that is reported to the client.
type Refusal struct {
	Reason Reason
	// Ability is the ability that was not granted, or "" if none is involved.
	Ability Ability
	// Text names the refused part of the request and who can allow it.
	Text string
	// RetryAfter is the delay in seconds for RateLimited, or 0 if it is
	// unknown.
	RetryAfter int
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// Usage is the use of tokens and tools that a response reports. Input includes
// CacheRead and CacheWrite. Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens,omitempty"`
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	// CacheWriteHour is the part of CacheWrite that is kept for an hour.
	CacheWriteHour int64 `json:"cache_write_hour_tokens,omitempty"`
	// Audio is the audio part of Input, without CacheRead.
	Audio     int64 `json:"audio_tokens,omitempty"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_tokens,omitempty"`
	// ToolCalls counts the calls of the provider-side tools, for which it
	// charges in addition to their tokens.
	ToolCalls ToolCalls `json:"tool_calls,omitzero"`
	// Tier is the service tier that served the request, if it has prices of its
	// own: "priority", "flex" or another name of the provider.
	Tier string `json:"service_tier,omitempty"`
}

// Meter reads a decoded response (without content encoding) as it passes and
// extracts the usage. It never fails and holds a bounded amount of memory.
type Meter interface {
	io.Writer
	// Usage returns the final usage. If the response has reported no final
	// usage yet, ok is false and u is the usage so far. Of a count that the
	// response repeats, the greatest value is taken.
	Usage() (u Usage, ok bool)
	// Done reports whether the response ended as the protocol demands: with a
	// complete JSON value, or with the final event of a stream.
	Done() bool
	// Failed returns the error that the provider reports within a response, or
	// "" if there is none.
	Failed() string
	// Progress returns the progress of the response.
	Progress() Progress
}

// Progress describes the part of a response that has arrived.
type Progress struct {
	// Text is the number of bytes that the model wrote. No tokenizer makes more
	// tokens of them. Thoughts that are not shown are not included.
	Text int64
	// Reported reports that the response has stated a usage, final or not.
	Reported bool
	// Model is the model that answers, as the response names it.
	Model string
	// Begun reports that an answer or an error has begun: more than comments
	// and the events that announce an answer.
	Begun bool
	// Malformed reports that the response is not JSON, where it should be.
	Malformed bool
	// Status is the HTTP status that corresponds to the error of Failed, or 0
	// without one.
	Status int
}

// Canonical is a request without the details that vary from run to run.
type Canonical struct {
	// Fixed is the part that a conversation repeats in each request: the model,
	// the settings, the tools.
	Fixed []byte
	// Parts are the messages, in order.
	Parts []Part
}

// Part is one message of a conversation.
type Part struct {
	// Role is the speaker: system, user, assistant or tool.
	Role string
	// Text is the canonical form of the message.
	Text []byte
}

// Ability is something a provider can do beyond running the requested model on
// the input it was sent. Pipelines grant abilities by name in tools.
type Ability string

// The abilities.
const (
	WebSearch       Ability = "web_search"
	WebFetch        Ability = "web_fetch"
	CodeInterpreter Ability = "code_interpreter"
	FileSearch      Ability = "file_search"
	MCP             Ability = "mcp"
	RemoteFiles     Ability = "remote_files"
	Files           Ability = "files"
	Batch           Ability = "batch"
	FineTuning      Ability = "fine_tuning"
	ComputerUse     Ability = "computer_use"
	ImageGeneration Ability = "image_generation"
	Audio           Ability = "audio"
	ToolSearch      Ability = "tool_search"
	Compaction      Ability = "compaction"
	ServerState     Ability = "server_state"
	OtherModels     Ability = "other_models"
	Premium         Ability = "premium"
	UnknownFields   Ability = "unknown_fields"
)

// Described is an ability with a description for people.
type Described struct {
	Ability Ability
	Text    string
}

// Abilities returns all abilities, in the order of the documentation.
func Abilities() []Described {
	return []Described{
		{WebSearch, "search the web"},
		{WebFetch, "fetch web pages"},
		{CodeInterpreter, "run code on its machines"},
		{FileSearch, "search files and stores that it keeps"},
		{MCP, "call remote MCP servers and connectors"},
		{RemoteFiles, "fetch images and files from addresses"},
		{Files, "keep files and read them by ID"},
		{Batch, "run batches of requests later"},
		{FineTuning, "train models"},
		{ComputerUse, "work a browser of its own"},
		{ImageGeneration, "make images and videos, at prices of their own"},
		{Audio, "hear and speak, at prices of their own"},
		{ToolSearch, "search the tools of the request in further turns"},
		{Compaction, "summarize the conversation in a further turn"},
		{ServerState, "keep and use earlier responses, conversations, prompts and caches"},
		{OtherModels, "use models other than the one that is asked for"},
		{Premium, "serve faster or elsewhere, at higher prices"},
		{UnknownFields, "whatever the fields, types and endpoints mean that mleflow does not know"},
	}
}

// says describes an ability to a person.
func (a Ability) says() string {
	for _, d := range Abilities() {
		if d.Ability == a {
			return d.Text
		}
	}
	return string(a)
}
