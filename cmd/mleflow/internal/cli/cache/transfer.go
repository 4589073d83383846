package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/step"
)

// transferFlags choose what cache push and cache pull transfer.
type transferFlags struct {
	remote string
	run    string
	all    bool
	dryRun bool
}

// check makes sure that one way of choosing is used.
func (f *transferFlags) check(args []string) error {
	ways := 0
	for _, used := range []bool{f.run != "", f.all, len(args) > 0} {
		if used {
			ways++
		}
	}
	if ways != 1 {
		return app.Usagef("name step addresses, pins or actions, or give --run RUN, or --all")
	}
	return nil
}

// newTransfer returns the command cache push or cache pull, which transfers the chosen
// records.
func newTransfer(a *app.App, verb, short string, choose func(context.Context, *remote.Tier, transferFlags, []string) ([]*cache.Record, error)) *cobra.Command {
	var f transferFlags
	cmd := &cobra.Command{
		Use:   verb + " [ADDRESS|PIN|ACTION]...",
		Short: short,
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			return a.WithRemote(f.remote, func(t *remote.Tier) error {
				recs, err := choose(cmd.Context(), t, f, args)
				if err != nil {
					return err
				}
				tr := &transfer{a, t, verb, t.Push, t.Unsent}
				if verb == "pull" {
					tr.one, tr.size = t.Pull, t.Unfetched
				}
				if f.dryRun {
					return tr.estimate(cmd.Context(), recs)
				}
				return tr.all(cmd.Context(), recs)
			})
		}),
	}
	cmd.Flags().StringVar(&f.remote, "remote", "", "the remote cache's `URL`, as --remote-cache")
	cmd.Flags().StringVar(&f.run, "run", "", "the results of a `RUN`")
	cmd.Flags().BoolVar(&f.all, "all", false, "every result there is")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would be sent")
	return cmd
}

// transfer is one cache push or cache pull.
type transfer struct {
	app  *app.App
	tier *remote.Tier
	verb string
	// one transfers a record, size says what that would send.
	one  func(context.Context, *cache.Record) error
	size func(context.Context, *cache.Record) (bytes int64, there bool, err error)
}

// failureJSON is a result that could not be transferred.
type failureJSON struct {
	Address string `json:"address"`
	Error   string `json:"error"`
}

// TransferredJSON is the form of cache push --json and cache pull --json.
type TransferredJSON struct {
	Remote  string `json:"remote"`
	Results int    `json:"results"`
	// Bytes were sent or fetched, or would be.
	Bytes  int64         `json:"bytes"`
	Failed []failureJSON `json:"failed"`
	DryRun bool          `json:"dry_run"`
}

// estimate says what would be transferred.
func (tr *transfer) estimate(ctx context.Context, recs []*cache.Record) error {
	out := TransferredJSON{Remote: tr.tier.Location().String(), Failed: []failureJSON{}, DryRun: true}
	for _, rec := range recs {
		n, there, err := tr.size(ctx, rec)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		out.Results++
		out.Bytes += n
		if !tr.app.JSON {
			fmt.Fprintf(tr.app.Stdout, "would %s %s (%s)\n", tr.verb, rec.Address, view.Bytes(n))
		}
	}
	return tr.show(out, len(recs))
}

// transfers is how many results are transferred at a time.
const transfers = 4

// all transfers records, goes on after failures and tells of them at the end.
func (tr *transfer) all(ctx context.Context, recs []*cache.Record) error {
	out := TransferredJSON{Remote: tr.tier.Location().String(), Failed: []failureJSON{}}
	var mu sync.Mutex
	var worst error
	stop := tr.app.Meter(tr.verb, tr.work(recs, func() int { mu.Lock(); defer mu.Unlock(); return out.Results }))
	var group errgroup.Group
	group.SetLimit(transfers)
	for _, rec := range recs {
		group.Go(func() error {
			err := context.Cause(ctx)
			if err == nil {
				err = tr.one(ctx, rec)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				out.Results++
				return nil
			}
			out.Failed = append(out.Failed, failureJSON{rec.Address, err.Error()})
			if worst == nil || errors.Is(err, cache.ErrCorrupt) {
				worst = err
			}
			return nil
		})
	}
	_ = group.Wait()
	stop()
	s := tr.tier.Stats()
	if out.Bytes = s.BytesOut; tr.verb == "pull" {
		out.Bytes = s.BytesIn
	}
	if err := tr.show(out, len(recs)); err != nil {
		return err
	}
	return outcomeOf(ctx, worst)
}

// outcomeOf maps the worst failure, which was told, to how the command ends.
func outcomeOf(ctx context.Context, worst error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(worst, cache.ErrCorrupt):
		return fmt.Errorf("%w: %w", app.ErrSilent, step.ErrMismatch)
	case worst != nil:
		return fmt.Errorf("%w: %w", app.ErrSilent, worst)
	}
	return nil
}

// work returns the function that tells how far it is. Its rate is that of the
// connection; what was there before is done, too.
func (tr *transfer) work(recs []*cache.Record, done func() int) func() view.Work {
	var total int64
	for _, rec := range recs {
		total += remote.Size(rec)
	}
	return func() (w view.Work) {
		m := tr.tier.Moved()
		there, sent := m.Stored, m.Out
		if tr.verb == "pull" {
			there, sent = m.Fetched, m.In
		}
		w.Done, w.Total, w.Unit, w.Bytes, w.TotalBytes = int64(done()), int64(len(recs)), "results", there, total
		w.FoundBytes = there - sent
		return w
	}
}

func (tr *transfer) show(out TransferredJSON, total int) error {
	if tr.app.JSON {
		return app.WriteJSON(tr.app.Stdout, out)
	}
	for i, f := range out.Failed {
		if i == 10 {
			fmt.Fprintf(tr.app.Stdout, "and %d more\n", len(out.Failed)-i)
			break
		}
		fmt.Fprintf(tr.app.Stdout, "%s %s\n", tr.app.OutStyle().Bad("Failed:"), view.OneLine(f.Error))
	}
	what := map[string]string{"push": "stored", "pull": "fetched"}[tr.verb]
	if out.DryRun {
		fmt.Fprintf(tr.app.Stdout, "%d of %s would be %s, %s.\n", out.Results, view.Plural(total, "result"), what, view.Bytes(out.Bytes))
		return nil
	}
	fmt.Fprintf(tr.app.Stdout, "%d of %s %s, %s transferred: %s\n", out.Results, view.Plural(total, "result"), what, view.Bytes(out.Bytes), out.Remote)
	return nil
}
