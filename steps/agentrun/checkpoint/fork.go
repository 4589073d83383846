package checkpoint

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
)

// Fork names the checkpoint from which another attempt begins.
type Fork struct {
	// Attempt is the action of the first attempt, At the time that it had used.
	Attempt digest.ActionID
	At      time.Duration
}

// ParseFork reads "KEY@TIME".
func ParseFork(text string) (*Fork, error) {
	key, at, _ := strings.Cut(text, "@")
	id, err := digest.ParseActionID(key)
	if err != nil {
		return nil, fmt.Errorf("%q is not KEY@TIME with the key of an attempt: %w", text, err)
	}
	f := &Fork{Attempt: id}
	if f.At, err = time.ParseDuration(at); err != nil || f.At < 0 || f.At%time.Second != 0 {
		return nil, fmt.Errorf("%q is not KEY@TIME with a time in whole seconds such as 6h10m0s", text)
	}
	return f, nil
}

// String is what ParseFork reads.
func (f *Fork) String() string { return f.Attempt.String() + "@" + f.At.String() }

// Find returns the checkpoint.
func (f *Fork) Find(ctx context.Context, p Place) (*Checkpoint, error) {
	p.Attempt = f.Attempt
	c, err := p.At(ctx, f.At)
	if c == nil && err == nil {
		err = fmt.Errorf("there is no checkpoint %s: %s", f, p.has(ctx))
	}
	return c, err
}

// has says which checkpoints an attempt has.
func (p Place) has(ctx context.Context) string {
	c, err := p.Find(ctx)
	if c == nil || err != nil {
		return "the attempt has none"
	}
	times := c.Kept
	if !c.Ended {
		times = append(times, c.Second())
	}
	if len(times) == 0 {
		return "the attempt has ended, and kept none; checkpoint_keep keeps some"
	}
	return "the attempt has those after " + strings.Trim(fmt.Sprint(times), "[]")
}

// Choose finds the checkpoint of an attempt that is nearest to a time, and lets it stay.
func (p Place) Choose(ctx context.Context, at time.Duration) (*Fork, error) {
	latest, err := p.Find(ctx)
	if err != nil {
		return nil, err
	}
	var best *Checkpoint
	if latest != nil && !latest.Ended {
		best = latest
	}
	var all []time.Duration
	if latest != nil {
		all = latest.Kept
	}
	for _, kept := range all {
		if best != nil && (best.Used-at).Abs() <= (kept-at).Abs() {
			continue
		}
		c, err := p.At(ctx, kept)
		if err != nil {
			return nil, err
		}
		if c != nil {
			best = c
		}
	}
	if best == nil {
		return nil, fmt.Errorf("nothing to fork: %s", p.has(ctx))
	}
	return &Fork{p.Attempt, best.Second()}, p.Keep(ctx, best)
}
