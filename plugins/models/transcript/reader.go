package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// Reader reads a transcript, even while it is being written. It is safe for
// concurrent use.
type Reader struct {
	events, requests, responses *bodies
	// tokens and logprobs are nothing in a transcript without token ids.
	tokens, logprobs *bodies
}

// bodies is a file that can be read at any offset.
type bodies struct {
	io.ReaderAt
	close func() error
	size  int64
}

// OpenReader opens the transcript in a folder. The folder's files must
// implement io.ReaderAt.
func OpenReader(folder fs.FS) (*Reader, error) {
	r := &Reader{}
	if err := r.open(folder); err != nil {
		return nil, errors.Join(fmt.Errorf("open transcript: %w", err), r.Close())
	}
	return r, nil
}

func (r *Reader) open(folder fs.FS) error {
	if err := checkFormat(folder); err != nil {
		return err
	}
	var err error
	// Events are opened first, because the bodies that they refer to were
	// written before them.
	for _, f := range []struct {
		to   **bodies
		name string
	}{{&r.events, EventsFile}, {&r.requests, requestsName}, {&r.responses, responsesName}, {&r.tokens, tokensName}, {&r.logprobs, logprobsName}} {
		*f.to, err = openBodies(folder, f.name)
		if optional := f.to == &r.tokens || f.to == &r.logprobs; optional && errors.Is(err, fs.ErrNotExist) {
			*f.to, err = &bodies{ReaderAt: bytes.NewReader(nil), close: func() error { return nil }}, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkFormat refuses a folder that is not a transcript of this format.
func checkFormat(folder fs.FS) error {
	f, err := folder.Open(formatName)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err == nil && string(text) != formatText {
		err = fmt.Errorf("its format is %.40q, not %q; another version of mleflow wrote it", text, formatText)
	}
	return err
}

func openBodies(folder fs.FS, name string) (*bodies, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	at, ok := f.(io.ReaderAt)
	if err == nil && !ok {
		err = fmt.Errorf("%s cannot be read at an offset", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &bodies{at, f.Close, info.Size()}, nil
}

// Close closes the files.
func (r *Reader) Close() error {
	var all error
	for _, b := range []*bodies{r.events, r.requests, r.responses, r.tokens, r.logprobs} {
		if b != nil {
			all = errors.Join(all, b.close())
		}
	}
	return all
}

// Events returns the exchanges in the order in which they ended. An incomplete
// last line is ignored. Any other unreadable line ends the sequence with an
// error.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	return readLines(r.lines(), func(line []byte, _ Span) (*Event, error) {
		e := &Event{}
		return e, json.Unmarshal(line, e)
	})
}

// Span is the location of an event's line in the file of events.
type Span struct{ Offset, Length int64 }

// entry is an event with the location of its line.
type entry struct {
	*Event
	Span
}

func (r *Reader) entries() iter.Seq2[entry, error] { return entries(r.lines()) }

// lines reads the file of events.
func (r *Reader) lines() io.Reader { return io.NewSectionReader(r.events, 0, r.events.size) }

// entries reads events.
func entries(f io.Reader) iter.Seq2[entry, error] {
	return readLines(f, func(line []byte, at Span) (entry, error) {
		e := entry{&Event{}, at}
		return e, json.Unmarshal(line, e.Event)
	})
}

// readLines reads a value from each line. An incomplete last line is ignored. Any other line
// that cannot be read ends the sequence.
func readLines[T any](f io.Reader, read func(line []byte, at Span) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		lines := bufio.NewReaderSize(f, 256<<10)
		var at Span
		for n := 1; ; n++ {
			line, err := readLine(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			var value T
			if at.Length = int64(len(line)); err == nil {
				if value, err = read(line, at); err != nil {
					err = fmt.Errorf("%w: %w", errDamaged, err)
				}
			}
			if err != nil {
				var none T
				yield(none, fmt.Errorf("read transcript: %s:%d: %w", EventsFile, n, err))
				return
			}
			if !yield(value, nil) {
				return
			}
			at.Offset += at.Length
		}
	}
}

var (
	errDamaged = errors.New("the line is damaged")
	errLine    = fmt.Errorf("%w: it is longer than %d bytes", errDamaged, maxLine)
)

// readLine reads a line including its end. An incomplete line returns io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.ReadSlice('\n')
		if long = append(long, line...); len(long) > maxLine {
			return nil, errLine
		}
	}
	return long, err
}

// Headline is the beginning of an event, with its location.
type Headline struct {
	Span   `json:"-"`
	Time   time.Time      `json:"time"`
	Status int            `json:"status"`
	Usage  *dialect.Usage `json:"usage"`
	Cost   int64          `json:"cost_nanodollars"`
}

// Headlines returns the exchanges in the order in which they ended, without the
// ranges of their bodies, which are most of a long conversation's events. At reads
// the event at a location.
func (r *Reader) Headlines() iter.Seq2[Headline, error] {
	return readLines(r.lines(), func(line []byte, at Span) (Headline, error) {
		h := Headline{Span: at}
		err := h.read(line)
		return h, err
	})
}

// bodiesAt begins the bodies in an event's line: within a string, its quotes would be
// escaped.
var bodiesAt = []byte(`,"request":{`)

// read reads the members before the bodies, or all if they are in another order.
func (h *Headline) read(line []byte) error {
	if end := bytes.Index(line, bodiesAt); end > 0 {
		if json.Unmarshal(append(line[:end:end], '}'), h) == nil && !h.Time.IsZero() {
			return nil
		}
	}
	return json.Unmarshal(line, h)
}

// At reads the event at a location.
func (r *Reader) At(s Span) (*Event, error) {
	e, err := &Event{}, errLine
	if s.Length <= maxLine {
		var line []byte
		if line, err = readBody(r.events, r.events.size, Body{Pieces: [][2]int64{{s.Offset, s.Length}}}); err == nil {
			err = json.Unmarshal(line, e)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read event at %d of %s: %w", s.Offset, EventsFile, err)
	}
	return e, nil
}

// Request returns the body of a request.
func (r *Reader) Request(e *Event) ([]byte, error) {
	return r.requests.body("request", e.Sequence, e.Request)
}

// Response returns the body of a response.
func (r *Reader) Response(e *Event) ([]byte, error) {
	return r.responses.body("response", e.Sequence, e.Response)
}

// body reads the body of an exchange.
func (f *bodies) body(what string, sequence int, b Body) ([]byte, error) {
	body, err := readBody(f, f.size, b)
	if err != nil {
		return nil, fmt.Errorf("read %s %d: %w", what, sequence, err)
	}
	return body, nil
}

// OpenResponse returns the body of a response as a stream.
func (r *Reader) OpenResponse(e *Event) (io.Reader, error) {
	if err := check(r.responses.size, e.Response); err != nil {
		return nil, fmt.Errorf("read response %d: %w", e.Sequence, err)
	}
	parts := make([]io.Reader, len(e.Response.Pieces))
	for i, p := range e.Response.Pieces {
		parts[i] = io.NewSectionReader(r.responses, p[0], p[1])
	}
	return io.MultiReader(parts...), nil
}

// check refuses ranges outside a file of this size and bodies that are too
// large.
func check(size int64, b Body) error {
	left := int64(MaxBody)
	for _, p := range b.Pieces {
		switch {
		case p[0] < 0 || p[1] < 0 || p[1] > size || p[0] > size-p[1]:
			return fmt.Errorf("its range of %d bytes at %d is not in the file of %d bytes", p[1], p[0], size)
		case p[1] > left:
			return fmt.Errorf("it has more than %d bytes", MaxBody)
		}
		left -= p[1]
	}
	return nil
}

func readBody(f io.ReaderAt, size int64, b Body) ([]byte, error) {
	if err := check(size, b); err != nil {
		return nil, err
	}
	body, at := make([]byte, b.Size()), int64(0)
	for _, p := range b.Pieces {
		if n, err := f.ReadAt(body[at:at+p[1]], p[0]); int64(n) < p[1] {
			return nil, fmt.Errorf("read %d bytes at %d: %w", p[1], p[0], err)
		}
		at += p[1]
	}
	return body, nil
}

// retained is the part of a transcript that stays when it is reopened.
type retained struct {
	events, requests, responses int64
	tokens, logprobs            int64
	sequence                    int
	last                        []Body
}

// survey reads the events in dir and determines how much of the other files
// they use. A missing transcript retains nothing. Events from a damaged line on
// are dropped.
func survey(dir string, limit int64) (retained, error) {
	var k retained
	var f *os.File
	err := checkFormat(os.DirFS(dir))
	if err == nil {
		f, err = nolink.Open(filepath.Join(dir, EventsFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	defer f.Close()
	for e, err := range entries(f) {
		if errors.Is(err, errDamaged) {
			break
		}
		if err != nil {
			return k, err
		}
		ids, logprobs := e.Sampling.bodies()
		if slices.ContainsFunc(slices.Concat(ids, logprobs, []Body{e.Request, e.Response}), func(b Body) bool { return check(limit, b) != nil }) {
			break
		}
		k.events, k.sequence = e.Offset+e.Length, max(k.sequence, e.Sequence)
		k.requests, k.responses = max(k.requests, end(e.Request)), max(k.responses, end(e.Response))
		k.tokens, k.logprobs = max(k.tokens, end(ids...)), max(k.logprobs, end(logprobs...))
		if k.last = append(k.last, e.Request); len(k.last) > recent {
			k.last = k.last[1:]
		}
	}
	return k, nil
}

// end returns the end of the last range of bodies in the file.
func end(all ...Body) (last int64) {
	for _, b := range all {
		for _, p := range b.Pieces {
			last = max(last, p[0]+p[1])
		}
	}
	return last
}
