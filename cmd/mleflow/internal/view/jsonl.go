package view

import (
	"io"
	"sync"

	"github.com/mleflow/mleflow/engine/event"
)

// JSON is a Sink that writes one JSON object per event and line.
type JSON struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewJSON returns a JSON view on w.
func NewJSON(w io.Writer) *JSON { return &JSON{w: w} }

// Emit implements event.Sink.
func (j *JSON) Emit(e event.Event) {
	line, err := event.Encode(e)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		_, err = j.w.Write(append(line, '\n'))
	}
	if err != nil && j.err == nil {
		j.err = err
	}
}

// Err returns the first error in writing.
func (j *JSON) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}
