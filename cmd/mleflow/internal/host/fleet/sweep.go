package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Swept is what Sweep did.
type Swept struct {
	// Cancelled and Removed count jobs, Cleared the actions whose documents in the
	// remote cache were removed.
	Cancelled int `json:"cancelled"`
	Removed   int `json:"removed"`
	Cleared   int `json:"cleared"`
	// Live is how many jobs wait or run still.
	Live int `json:"live"`
}

// Sweep removes what interrupted runs have left: jobs that have ended, and the
// documents about actions that nobody works on. With cancel, jobs that wait or
// run are cancelled first, whoever started them.
func (f *Fleet) Sweep(ctx context.Context, cancel bool) (s Swept, err error) {
	live := map[string]bool{}
	for _, y := range f.yards {
		y.start(ctx)
		if err := f.sweepYard(ctx, y, cancel, live, &s); err != nil {
			return s, fmt.Errorf("backend %s: %w", y.Name, err)
		}
	}
	ids, err := work.Known(ctx, f.opts.Cache.Desk())
	if err != nil {
		return s, err
	}
	for _, id := range ids {
		if live[cluster.JobName(id.String())] {
			continue
		}
		over := cancel
		if !over {
			if over, err = work.Over(ctx, f.opts.Cache, id); err != nil {
				return s, err
			}
		}
		if over {
			if err := work.Clear(ctx, f.opts.Cache.Desk(), id); err != nil {
				return s, err
			}
			s.Cleared++
		}
	}
	return s, nil
}

func (f *Fleet) sweepYard(ctx context.Context, y *yard, cancel bool, live map[string]bool, s *Swept) error {
	going, over := y.jobs()
	if cancel && len(going) > 0 {
		if err := y.Cancel(ctx, going...); err != nil {
			return err
		}
		late, stop := context.WithTimeout(ctx, y.Grace+30*time.Second)
		defer stop()
		for _, name := range going {
			if err := y.over(late, name); err != nil {
				return fmt.Errorf("job %s has not ended: %w", name, errors.Join(err, ctx.Err()))
			}
		}
		s.Cancelled += len(going)
		going, over = y.jobs()
	}
	for _, name := range going {
		live[name] = true
	}
	s.Live += len(going)
	s.Removed += len(over)
	if len(over) == 0 {
		return nil
	}
	return y.Remove(ctx, over...)
}

// jobs lists the jobs that are known, those that wait or run and those that have
// ended.
func (y *yard) jobs() (going, over []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for name, s := range y.known {
		switch {
		case s.State == cluster.Gone:
		case s.State.Ended():
			over = append(over, name)
		default:
			going = append(going, name)
		}
	}
	return going, over
}
