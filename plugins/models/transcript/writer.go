package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
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
	requests  *pieces
	responses *file
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
	w := &Writer{secrets: secrets.ForDocuments(), limit: limit}
	if err := w.open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open transcript: %w", err), w.Close())
	}
	return w, nil
}

func (w *Writer) open(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	kept, err := survey(dir, w.limit)
	if err != nil {
		return err
	}
	if err := writeFormat(dir); err != nil {
		return err
	}
	if w.events, err = openFile(filepath.Join(dir, EventsFile), kept.events); err != nil {
		return err
	}
	requests, err := openFile(filepath.Join(dir, requestsName), kept.requests)
	if err != nil {
		return err
	}
	w.requests = newPieces(requests)
	if w.responses, err = openFile(filepath.Join(dir, responsesName), kept.responses); err != nil {
		return err
	}
	w.sequence = kept.sequence
	return w.learn(kept.last)
}

// writeFormat atomically writes the file that identifies the folder's format.
func writeFormat(dir string) error {
	path := filepath.Join(dir, formatName)
	return nolink.WriteFile(path, []byte(formatText), 0o600, false)
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
	for _, f := range []*file{w.events, w.responses} {
		if f != nil {
			all = errors.Join(all, f.Close())
		}
	}
	if w.requests != nil {
		all = errors.Join(all, w.requests.Close())
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
	bodies := w.requests.size + w.responses.size
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
}

// Begin starts an exchange with the decoded and complete body of its request.
// It assigns the exchange's number.
func (w *Writer) Begin(request []byte) *Exchange {
	kept := maskBody(w.secrets, request)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sequence++
	x := &Exchange{w: w, sequence: w.sequence}
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

// Sequence returns the number of the exchange.
func (x *Exchange) Sequence() int { return x.sequence }

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

// End writes the exchange. It sets the event's Sequence, Request and Response.
// x must not be used afterwards.
func (x *Exchange) End(e Event) {
	_ = x.masked.Flush()
	x.spill()
	e.Sequence, e.Request, e.Response = x.sequence, x.request, x.response
	line, err := json.Marshal(e)
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		line = append(w.secrets.JSON(line), '\n')
		if int64(len(line)) > w.limit-w.events.size-w.requests.size-w.responses.size || len(line) > maxLine {
			w.drop(nil)
			return
		}
		_, err = w.events.add(line)
	}
	if err != nil {
		w.drop(err)
	}
}
