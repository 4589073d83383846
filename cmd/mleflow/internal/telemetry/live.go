package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// Live sends the spans of a run as its steps end. It reads the journal, so the
// run never waits for it.
type Live struct {
	to   *Sender
	open func(run string) (*ledger.Past, error)
	from Results

	once   sync.Once
	ending chan struct{}
	done   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	err    error // after done
}

// NewLive returns a Live that closes the Sender.
func NewLive(to *Sender, open func(run string) (*ledger.Past, error), from Results) *Live {
	l := &Live{to: to, open: open, from: from, ending: make(chan struct{}), done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Emit implements event.Sink. It only looks for the beginning of the run.
func (l *Live) Emit(e event.Event) {
	if start, ok := e.(event.RunStarted); ok {
		l.once.Do(func() { go l.follow(start.Run) })
	}
}

// follow makes spans of the journal until the run ends.
func (l *Live) follow(id string) {
	defer close(l.done)
	past, err := l.open(id)
	if err != nil {
		l.err = err
		return
	}
	run, journal := NewRun(l.to, past, l.from), past.Watch()
	for last := false; ; {
		events, err := journal.Next()
		for _, e := range events {
			run.Add(l.ctx, e)
		}
		if err != nil {
			l.err = err
			return
		}
		if last || run.ended {
			l.err = errors.Join(run.Missing()...)
			return
		}
		select {
		case <-l.ending:
			last = true
		case <-time.After(time.Second):
		}
	}
}

// Close waits for the last spans, for at most a given time. It returns a
// description of the loss, if there is one.
func (l *Live) Close(most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	defer l.cancel()
	close(l.ending)
	l.once.Do(func() { close(l.done) }) // nothing ran
	select {
	case <-l.done:
	case <-ctx.Done():
		l.cancel()
	}
	made, sent, err := l.to.Close(ctx)
	select {
	case <-l.done:
		if err == nil {
			err = l.err
		}
	default:
		return fmt.Errorf("the spans of the last attempts were not sent within %v", most)
	}
	if err != nil {
		return fmt.Errorf("%d of %d spans did not arrive: %w", made-sent, made, err)
	}
	return nil
}
