package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// Live sends the spans of a run as its steps end. It reads the journal, so the
// run never waits for it.
type Live struct {
	// Run is the run's identifier, or empty before the run begins.
	Run string

	to   *Sender
	find func(args []string) (*history.Past, error)
	from Results
	stop context.CancelFunc
	done chan error
}

// NewLive returns a Live that closes the Sender.
func NewLive(to *Sender, find func(args []string) (*history.Past, error), from Results) *Live {
	return &Live{to: to, find: find, from: from, done: make(chan error, 1)}
}

// Emit implements event.Sink. It only looks for the beginning of the run.
func (l *Live) Emit(e event.Event) {
	if start, ok := e.(event.RunStarted); ok && l.Run == "" {
		var ctx context.Context
		ctx, l.stop = context.WithCancel(context.Background())
		l.Run = start.Run
		go func() { l.done <- l.follow(ctx) }()
	}
}

// follow makes spans of the journal until the run ends.
func (l *Live) follow(ctx context.Context) error {
	past, err := l.find([]string{l.Run})
	if err != nil {
		return err
	}
	run, journal := NewRun(l.to, past, l.from), past.Watch()
	for !run.ended && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		events, err := journal.Next()
		if err != nil {
			return err
		}
		for _, e := range events {
			run.Add(ctx, e)
		}
	}
	return errors.Join(run.Missing()...)
}

// Close waits for the last spans, for at most a given time. It returns a
// description of the loss, if there is one.
func (l *Live) Close(most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	var incomplete error
	if l.Run != "" {
		defer l.stop()
		select {
		case incomplete = <-l.done:
		case <-ctx.Done():
			l.stop()
			_, _, _ = l.to.Close(ctx)
			return fmt.Errorf("the spans of the last attempts were not sent within %v", most)
		}
	}
	if made, sent, err := l.to.Close(ctx); err != nil {
		return fmt.Errorf("%d of %d spans did not arrive: %w", made-sent, made, err)
	}
	return incomplete
}
