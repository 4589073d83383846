package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// EventsFile is the file of a transcript with one Event per line.
const EventsFile = "events.jsonl"

const (
	formatName, formatText = "format", "mleflow transcript 1\n"
	requestsName           = "requests.bin"
	responsesName          = "responses.bin"

	// MaxBody is the largest body that is kept or read.
	MaxBody = 128 << 20
	// maxLine is the longest line of events.jsonl.
	maxLine = 8 << 20
	// block is the number of bytes of a response that are buffered in memory.
	block = 64 << 10
	// recent is the number of requests that are read again when a transcript is
	// reopened, so that later requests can share their pieces.
	recent = 16
)

// Writer appends to a transcript. It is safe for concurrent use. It drops and
// counts data that it cannot write, so that the agent can continue.
type Writer struct {
	secrets *secret.Set

	mu        sync.Mutex
	events    *file
	requests  pieces
	responses *file
	tokens    tokenFiles
	limit     int64
	sequence  int
	dropped   int
	err       error
}

// Open opens the transcript in dir and creates it if it is missing. The
// transcript grows to at most limit bytes. Bodies use up to seven eighths of
// that; further ones are only counted. secrets are masked; nil masks nothing.
// After a crash, Open continues after the last complete event.
func Open(dir string, limit int64, secrets *secret.Set) (*Writer, error) {
	w := &Writer{secrets: secrets, limit: limit, requests: newPieces()}
	if err := w.open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open transcript: %w", err), w.Close())
	}
	return w, nil
}

func (w *Writer) open(dir string) error {
	if err := nolink.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	kept, err := survey(dir, w.limit)
	if err != nil {
		return err
	}
	if err := nolink.WriteFile(filepath.Join(dir, formatName), []byte(formatText), 0o600, false); err != nil {
		return err
	}
	for _, f := range []struct {
		to   **file
		name string
		keep int64
	}{{&w.events, EventsFile, kept.events}, {&w.requests.file, requestsName, kept.requests}, {&w.responses, responsesName, kept.responses}} {
		if *f.to, err = openFile(filepath.Join(dir, f.name), f.keep); err != nil {
			return err
		}
	}
	w.sequence = kept.sequence
	w.tokens = tokenFiles{dir: dir, ids: &file{size: kept.tokens}, logprobs: &file{size: kept.logprobs}}
	return w.learn(kept.last)
}

// learn remembers the last requests, so that their conversations are not stored
// again.
func (w *Writer) learn(last []Body) error {
	for _, b := range last {
		body, err := readBody(w.requests, w.requests.size, b)
		if err != nil || b.Dropped > 0 {
			continue // a damaged body is not needed
		}
		if err := w.requests.learn(body, b.Pieces); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files. Dropped data is not an error; see Dropped.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all error
	for _, f := range []*file{w.events, w.requests.file, w.responses, w.tokens.ids, w.tokens.logprobs} {
		if f != nil && f.File != nil {
			all = errors.Join(all, f.Close())
		}
	}
	return all
}

// Dropped returns the number of events and bodies that were not kept
// completely, and the first error of the file system, if any.
func (w *Writer) Dropped() (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped, w.err
}

// drop counts a body or an event that was not kept. The caller holds w.mu.
func (w *Writer) drop(err error) {
	w.dropped++
	if w.err == nil {
		w.err = err
	}
}

// left returns the number of bytes left for bodies. The caller holds w.mu.
func (w *Writer) left() int64 {
	bodies := w.requests.size + w.responses.size + w.tokens.size()
	return min(w.limit-w.limit/8, w.limit-w.events.size) - bodies
}

// Exchange is one request in progress with its response. It is not safe for
// concurrent use.
type Exchange struct {
	w        *Writer
	sequence int
	request  Body
	response Body
	masked   *secret.Writer
	held     []byte
	// secret means that a secret in the request was masked.
	secret  bool
	sampled *dialect.Tokens
}

// Begin starts an exchange with the decoded and complete body of its request.
// It assigns the exchange's number.
func (w *Writer) Begin(request []byte) *Exchange {
	kept := maskBody(w.secrets, request)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sequence++
	x := &Exchange{w: w, sequence: w.sequence, secret: !bytes.Equal(kept, request)}
	x.masked = secret.NewWriter((*exchangeSink)(x), w.secrets)
	ranges, ok := [][2]int64(nil), len(kept) <= MaxBody
	var err error
	if ok {
		ranges, ok, err = w.requests.put(kept, w.left())
	}
	if x.request.Pieces = ranges; !ok {
		x.request.Dropped = int64(len(kept))
		w.drop(err)
	}
	return x
}

// maskBody masks a body. A JSON body stays JSON.
func maskBody(secrets *secret.Set, body []byte) []byte {
	if json.Valid(body) {
		return secrets.JSON(body)
	}
	return secrets.Bytes(body)
}

// Write records a part of the decoded response. It never fails.
func (x *Exchange) Write(p []byte) (int, error) {
	_, _ = x.masked.Write(p)
	return len(p), nil
}

// exchangeSink receives the masked response.
type exchangeSink Exchange

// Write implements io.Writer.
func (s *exchangeSink) Write(p []byte) (int, error) {
	s.held = append(s.held, p...)
	if len(s.held) >= block {
		(*Exchange)(s).spill()
	}
	return len(p), nil
}

// spill writes the buffered part of the response to the file.
func (x *Exchange) spill() {
	if len(x.held) == 0 {
		return
	}
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	size := int64(len(x.held))
	if x.response.Dropped > 0 || size > x.w.left() || size+x.response.Size() > MaxBody {
		if x.response.Dropped == 0 {
			x.w.drop(nil)
		}
		x.response.Dropped += size
	} else if at, err := x.w.responses.add(x.held); err != nil {
		x.w.drop(err)
		x.response.Dropped += size
	} else {
		x.response.Pieces = extend(x.response.Pieces, at, size)
	}
	x.held = x.held[:0]
}

// End writes the exchange. It sets the event's Sequence, Request, Response and Masked.
// x must not be used afterwards.
func (x *Exchange) End(e Event) {
	_ = x.masked.Flush()
	x.spill()
	e.Sequence, e.Request, e.Response = x.sequence, x.request, x.response
	e.Masked = e.Masked || x.masked.Masked()
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if x.sampled != nil {
		e.Sampling = w.sampling(x.sampled, x.secret || e.Masked)
	}
	line, err := json.Marshal(e)
	if err == nil {
		line = append(w.secrets.JSON(line), '\n')
		if int64(len(line)) > w.limit-w.events.size-w.requests.size-w.responses.size-w.tokens.size() || len(line) > maxLine {
			w.drop(nil)
			return
		}
		_, err = w.events.add(line)
	}
	if err != nil {
		w.drop(err)
	}
}

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
	// Sampling is what the server reported of the tokens, if it was asked.
	Sampling *Sampling `json:"sampling,omitempty"`
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
	return lists.Sum(b.Pieces, func(p [2]int64) int64 { return p[1] })
}
