package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/parallel"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/step"
)

// transferFlags choose what cache push and cache pull transfer.
type transferFlags struct {
	remote, run string
	all, dryRun bool
}

// check makes sure that one way of choosing is used.
func (f *transferFlags) check(args []string) error {
	ways := slices.DeleteFunc([]bool{f.run != "", f.all, len(args) > 0}, func(used bool) bool { return !used })
	if len(ways) != 1 {
		return app.Usagef("name step addresses, pins or actions, or give --run RUN, or --all")
	}
	return nil
}

// newTransfer returns the command cache push or cache pull, which transfers the chosen
// records.
func newTransfer(a *app.App, verb, short string, choose func(context.Context, *remote.Tier, transferFlags, []string) ([]*cache.Record, error)) *cobra.Command {
	var f transferFlags
	cmd := a.Command(verb+" [ADDRESS|PIN|ACTION]...", short, app.Takes(0, -1), func(cmd *cobra.Command, args []string) error {
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
	})
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
	return tr.app.Show(out, func() { tr.write(out, len(recs)) })
}

// transfers is how many results are transferred at a time.
const transfers = 4

// all transfers records, goes on after failures and tells of them at the end.
func (tr *transfer) all(ctx context.Context, recs []*cache.Record) error {
	out := TransferredJSON{Remote: tr.tier.Location().String(), Failed: []failureJSON{}}
	var mu sync.Mutex
	var worst error
	stop := tr.app.Meter(tr.verb, tr.work(recs, func() int { mu.Lock(); defer mu.Unlock(); return out.Results }))
	parallel.Do(len(recs), transfers, func(i int) {
		err := context.Cause(ctx)
		if err == nil {
			err = tr.one(ctx, recs[i])
		}
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			out.Results++
			return
		}
		out.Failed = append(out.Failed, failureJSON{recs[i].Address, err.Error()})
		if worst == nil || errors.Is(err, cache.ErrCorrupt) {
			worst = err
		}
	})
	stop()
	s := tr.tier.Stats()
	if out.Bytes = s.BytesOut; tr.verb == "pull" {
		out.Bytes = s.BytesIn
	}
	if err := tr.app.Show(out, func() { tr.write(out, len(recs)) }); err != nil {
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

func (tr *transfer) write(out TransferredJSON, total int) {
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
		return
	}
	fmt.Fprintf(tr.app.Stdout, "%d of %s %s, %s transferred: %s\n", out.Results, view.Plural(total, "result"), what, view.Bytes(out.Bytes), out.Remote)
}

// localRecords returns the chosen records of the local cache.
func localRecords(ctx context.Context, t *remote.Tier, f transferFlags, args []string) ([]*cache.Record, error) {
	if t.Location().ReadOnly {
		return nil, app.Usagef("cache push: %s is opened with mode=read", t.Location())
	}
	c := t.Cache
	items, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	if f.run != "" {
		args = []string{f.run}
	}
	var ids []digest.ActionID
	if f.all {
		ids = lists.Of(items, func(item disk.Item) digest.ActionID { return item.Action })
	}
	for _, arg := range args {
		found, err := pinned(ctx, c, arg)
		if err == nil && found == nil {
			found, err = actionsOf(c, items, arg)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	var recs []*cache.Record
	for _, same := range lists.Grouped(ids, func(id digest.ActionID) digest.ActionID { return id }) {
		rec, err := c.Lookup(ctx, same[0])
		if errors.Is(err, cache.ErrNotFound) || err == nil && rec.Final() == nil {
			continue // evicted meanwhile, or provisional, which is for this machine only
		}
		if err != nil {
			return nil, fmt.Errorf("cache push: %w", err)
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// pinned returns the actions of a pin, or nil if there is none of that name.
func pinned(ctx context.Context, c *disk.Cache, name string) ([]digest.ActionID, error) {
	pins, err := c.Pins(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(pins, func(p disk.Pin) bool { return p.Name == name })
	if i < 0 {
		return nil, nil
	}
	return pins[i].Actions, nil
}

// remoteRecords returns the chosen records of the remote cache.
func remoteRecords(ctx context.Context, t *remote.Tier, f transferFlags, args []string) ([]*cache.Record, error) {
	ids := map[digest.ActionID]bool{}
	var addresses, prefixes []string
	for _, arg := range args {
		found, err := pinned(ctx, t.Cache, arg)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			ids[id] = true
		}
		switch {
		case found != nil:
		case strings.HasPrefix(arg, "step."):
			addresses = append(addresses, arg)
		case len(arg) >= 6 && strings.Trim(arg, "0123456789abcdef") == "":
			prefixes = append(prefixes, arg)
		default:
			return nil, app.Usagef("cache pull: %s is not a step address, a pin of this cache or an action; for the results of another machine's run, use --run", arg)
		}
	}
	every := f.all || f.run != "" || len(addresses) > 0
	recs, err := t.Records(ctx, func(id digest.ActionID) bool {
		return every || ids[id] || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(id.String(), p) })
	})
	if err != nil {
		return nil, err
	}
	newest := newestOf(recs, addresses)
	recs = slices.DeleteFunc(recs, func(r *cache.Record) bool {
		chosen := f.all || f.run != "" && r.Run == f.run || ids[r.Action] || newest[r.Address] == r ||
			slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.Action.String(), p) })
		return !chosen
	})
	if len(recs) == 0 && !f.all {
		return nil, app.Usagef("cache pull: the remote cache %s has no such result", t.Location())
	}
	return recs, nil
}

// newestOf returns the latest record of each address.
func newestOf(recs []*cache.Record, addresses []string) map[string]*cache.Record {
	newest := map[string]*cache.Record{}
	for _, r := range recs {
		if !slices.Contains(addresses, r.Address) {
			continue
		}
		if n := newest[r.Address]; n == nil || r.StartedUnixMilli > n.StartedUnixMilli {
			newest[r.Address] = r
		}
	}
	return newest
}
