// Package progress counts the progress of long work for the views that show it. It
// is a leaf: stores, plugins and steps count with it, and know nothing of views.
package progress

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Work counts the progress of long work. The worker adds to it and a view polls it,
// so that counting costs no more than an addition. The zero value is ready to use,
// and nil counts nothing.
type Work struct {
	// Ended, if set, is called with the final state of each part when the next one
	// begins.
	Ended func(State)
	now   atomic.Pointer[part]
}

// State is the progress of one part of the work. Unknown totals are 0.
type State struct {
	What              string
	Files, TotalFiles int64
	Bytes, TotalBytes int64
}

// part is the part of the work that is in progress.
type part struct {
	begun        State // without what is counted
	files, bytes atomic.Int64
}

func (p *part) state() State {
	out := p.begun
	out.Files, out.Bytes = p.files.Load(), p.bytes.Load()
	return out
}

// Begin ends the current part of the work and begins the next. Unknown totals are
// 0. With an empty name it only ends the current part.
func (w *Work) Begin(what string, files, bytes int64) {
	if w == nil {
		return
	}
	last := w.now.Swap(&part{begun: State{What: what, TotalFiles: files, TotalBytes: bytes}})
	if last != nil && last.begun.What != "" && w.Ended != nil {
		w.Ended(last.state())
	}
}

// Add counts what was done.
func (w *Work) Add(files, bytes int64) {
	if w == nil {
		return
	}
	if p := w.now.Load(); p != nil {
		p.files.Add(files)
		p.bytes.Add(bytes)
	}
}

// Now returns the progress of the current part.
func (w *Work) Now() State {
	if w == nil {
		return State{}
	}
	if p := w.now.Load(); p != nil {
		return p.state()
	}
	return State{}
}

// Writer returns a writer to out whose bytes are counted.
func (w *Work) Writer(out io.Writer) io.Writer {
	if w == nil {
		return out
	}
	return counted{w, out.Write}
}

// Reader returns a reader of in whose bytes are counted.
func (w *Work) Reader(in io.Reader) io.Reader {
	if w == nil {
		return in
	}
	return counted{w, in.Read}
}

// counted is a reader or a writer whose bytes are counted.
type counted struct {
	w    *Work
	move func([]byte) (int, error)
}

func (c counted) count(p []byte) (int, error) {
	n, err := c.move(p)
	c.w.Add(0, int64(n))
	return n, err
}

func (c counted) Read(p []byte) (int, error)  { return c.count(p) }
func (c counted) Write(p []byte) (int, error) { return c.count(p) }

// Every calls look in a goroutine at each interval. The returned function stops
// this and waits for the last call; calling it again does nothing.
func Every(interval time.Duration, look func()) (stop func()) {
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				look()
			}
		}
	})
	return sync.OnceFunc(func() { close(ended); group.Wait() })
}

// Sleep waits. If ctx ends first, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// followEvery is the interval at which Follow looks at the work.
const followEvery = 200 * time.Millisecond

// Follow reports the progress of work, and the end of each of its parts, until the
// returned function is called. It must be called before the work begins.
func Follow(w *Work, tell func(State)) (stop func()) {
	w.Ended = tell
	var last State
	over := Every(followEvery, func() {
		if now := w.Now(); now.What != "" && now != last {
			last = now
			tell(now)
		}
	})
	return sync.OnceFunc(func() {
		over()
		w.Begin("", 0, 0)
	})
}
