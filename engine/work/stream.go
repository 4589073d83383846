package work

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

const (
	// firstFlush and lastFlush are the first and the longest interval between
	// writes of events. Short intervals at the beginning serve the people
	// watching; longer ones later save requests.
	firstFlush = time.Second
	lastFlush  = 10 * time.Second
	// chunkBytes is the size from which a chunk is written without waiting.
	chunkBytes = 256 << 10
	// mostLog is the maximum number of log bytes that are streamed. The rest
	// stays with the step, whose kind may keep it as an output.
	mostLog = 64 << 20
	// mostWaiting is the number of chunks kept for a remote that does not
	// answer.
	mostWaiting = 64
)

// endLine is the last line of the last chunk.
const endLine = `{"type":"end"}`

func eventsName(id digest.ActionID, generation, chunk int) string {
	return remote.WorkName(id, fmt.Sprintf("%s%06d-%06d", eventsPrefix, generation, chunk))
}

// stream writes events in chunks. A chunk contains only the last progress and
// the last phase before it was cut.
type stream struct {
	desk       remote.Desk
	action     digest.ActionID
	generation int

	mu       sync.Mutex
	buf      bytes.Buffer
	progress event.Event
	phase    *event.StepPhase
	logged   int64
	chunks   [][]byte // waiting to be written
	full     chan struct{}
	number   int
	stopped  chan struct{}
}

func newStream(desk remote.Desk, id digest.ActionID, generation int) *stream {
	return &stream{desk: desk, action: id, generation: generation, full: make(chan struct{}, 1), stopped: make(chan struct{})}
}

// Emit implements event.Sink.
func (s *stream) Emit(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case event.StepProgress:
		s.progress = e
		return
	case event.StepPhase:
		if s.phase != nil && e.Turn(s.phase.Phase) {
			s.write(*s.phase)
		}
		s.phase = &e
		return
	case event.StepLog:
		before := s.logged
		if s.logged += int64(len(e.Line)) + 1; s.logged > mostLog {
			if before > mostLog {
				return
			}
			e.Line = fmt.Sprintf("mleflow: more than %d MiB were printed; the rest is not streamed", mostLog>>20)
		}
		s.write(e)
	case event.Steered: // somebody waits for it
		s.write(e)
		s.cut()
		s.wake()
	default:
		s.write(e)
	}
}

// write appends an event to the chunk.
func (s *stream) write(e event.Event) {
	line, err := event.Encode(e)
	if err != nil {
		return // a failure to encode an event must not fail the step
	}
	s.buf.Write(append(line, '\n'))
	if s.buf.Len() >= chunkBytes {
		s.cut()
		s.wake()
	}
}

// wake makes run write what is cut.
func (s *stream) wake() {
	select {
	case s.full <- struct{}{}:
	default:
	}
}

// cut ends the chunk.
func (s *stream) cut() {
	if s.phase != nil {
		p := *s.phase
		s.phase = nil
		s.write(p)
	}
	if p := s.progress; p != nil {
		s.progress = nil
		s.write(p)
	}
	if s.buf.Len() == 0 {
		return
	}
	if len(s.chunks) == mostWaiting { // dropping the oldest bounds the memory
		s.chunks = s.chunks[1:]
	}
	s.chunks = append(s.chunks, bytes.Clone(s.buf.Bytes()))
	s.buf.Reset()
}

// run writes chunks until ctx ends.
func (s *stream) run(ctx context.Context) {
	defer close(s.stopped)
	wait := firstFlush
	for {
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-s.full:
			t.Stop()
		case <-t.C:
			wait = min(lastFlush, wait*5/4)
		}
		_ = s.flush(ctx) // retried with the next flush
	}
}

// flush writes all waiting chunks.
func (s *stream) flush(ctx context.Context) error {
	s.mu.Lock()
	s.cut()
	s.mu.Unlock()
	for {
		s.mu.Lock()
		if len(s.chunks) == 0 {
			s.mu.Unlock()
			return nil
		}
		chunk, number := s.chunks[0], s.number+1
		s.mu.Unlock()
		if err := s.desk.Put(ctx, eventsName(s.action, s.generation, number), chunk); err != nil {
			return err
		}
		s.mu.Lock()
		s.number = number
		if len(s.chunks) > 0 && &s.chunks[0][0] == &chunk[0] {
			s.chunks = s.chunks[1:]
		}
		s.mu.Unlock()
	}
}

// end writes the remaining events and the end line. run must have returned.
func (s *stream) end(ctx context.Context) error {
	s.mu.Lock()
	s.cut()
	s.buf.WriteString(endLine + "\n")
	s.chunks = append(s.chunks, bytes.Clone(s.buf.Bytes()))
	s.buf.Reset()
	s.mu.Unlock()
	return s.flush(ctx)
}

// reportMoved reports progress once a second while move fetches or stores the content of
// refs, and completion if there was no error.
func reportMoved(ctx context.Context, address, what string, refs []cache.Ref, emit func(event.Event), move func(context.Context, ...cache.Ref) error) error {
	total := lists.Sum(refs, func(ref cache.Ref) int64 { return ref.Size })
	if total == 0 {
		return move(ctx, refs...)
	}
	moved := new(atomic.Int64)
	tell := func() {
		emit(event.StepProgress{At: event.Now(), Address: address, Progress: step.Progress{What: what, Done: min(total, moved.Load()), Total: total, Unit: "bytes"}})
	}
	stop := progress.Every(time.Second, tell)
	err := move(remote.WithCount(ctx, moved), refs...)
	if stop(); err == nil {
		tell()
	}
	return err
}
