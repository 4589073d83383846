package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// removeOptions are the flags of runs remove.
type removeOptions struct {
	olderThan          string
	keep               int
	yes, dryRun, force bool
}

func newRunsRemove(a *app.App) *cobra.Command {
	var o removeOptions
	cmd := a.Command("remove [RUN]...", "Remove runs with their logs; results stay, and attempts still count", app.Takes(0, -1),
		func(cmd *cobra.Command, args []string) error {
			if (cmd.Flags().Changed("older-than") || cmd.Flags().Changed("keep")) == (len(args) > 0) {
				return app.Usagef("name runs, or choose them with --older-than or --keep; mleflow runs lists them")
			}
			return removeRuns(cmd.Context(), a, o, args)
		})
	cmd.Flags().StringVar(&o.olderThan, "older-than", "0d", "remove runs that started longer ago than `AGE`, such as 30d or 12h")
	cmd.Flags().IntVar(&o.keep, "keep", 1, "do not remove the newest `N` runs; without --older-than remove all others")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be removed")
	cmd.Flags().BoolVar(&o.force, "force", false, "also remove runs of other users, and those that are paused or that others need")
	return cmd
}

// Removal is a run that was chosen to be removed.
type Removal struct {
	history.Entry
	// Attempts is how many attempts the run began.
	Attempts int `json:"attempts"`
	// Stays is why the run is not removed; empty if it is.
	Stays string `json:"stays,omitempty"`

	tried []string
}

// RemovalJSON is what runs remove prints with --json.
type RemovalJSON struct {
	Runs    []Removal `json:"runs"`
	Removed int       `json:"removed"`
	DryRun  bool      `json:"dry_run"`
}

func removeRuns(ctx context.Context, a *app.App, o removeOptions, refs []string) error {
	l, err := a.OpenHistory()
	if err != nil {
		return err
	}
	entries, err := l.List()
	if err != nil {
		return err
	}
	chosen, err := o.chosen(a, entries, refs)
	if err != nil {
		return err
	}
	out := RemovalJSON{Runs: o.removals(l, entries, chosen), DryRun: o.dryRun}
	going := lists.Where(out.Runs, func(r Removal) bool { return r.Stays == "" })
	for _, r := range out.Runs {
		if r.Stays != "" && len(refs) > 0 {
			return app.Usagef("nothing was removed: run %s stays: %s%s", r.ID, r.Stays, view.When(r.State != history.Running, "; --force removes it nevertheless"))
		}
	}
	if !a.JSON {
		err = showRemovals(a, out.Runs)
	}
	if len(going) > 0 && !o.dryRun {
		switch {
		case o.yes:
		case a.JSON || !a.CanAsk():
			return app.Usagef("nothing was removed; add --yes where nobody can be asked")
		case !slices.Contains([]string{"y", "yes"}, a.Ask(ctx, "Remove "+view.Plural(len(going), "run")+"? [y/N]")):
			return app.Usagef("nothing was removed")
		}
		for _, r := range going {
			if err = errors.Join(err, context.Cause(ctx), l.Remove(r.ID, r.tried...)); err != nil {
				break
			}
			out.Removed++
		}
	}
	return errors.Join(err, a.Show(out, func() {
		fmt.Fprintf(a.Stdout, "%s %s.\n", view.Either(o.dryRun, "Would remove", "Removed"), view.Plural(view.Either(o.dryRun, len(going), out.Removed), "run"))
	}))
}

// chosen returns the IDs of the runs that are named or, if none are, of those that are old
// enough.
func (o removeOptions) chosen(a *app.App, entries []history.Entry, refs []string) (map[string]bool, error) {
	ids := map[string]bool{}
	for _, ref := range refs {
		if !slices.ContainsFunc(entries, func(e history.Entry) bool { return e.ID == ref }) { // an ID may be of one that cannot be read
			past, err := a.FindRun([]string{ref})
			if err != nil {
				return nil, err
			}
			ref = past.Info.ID
		}
		ids[ref] = true
	}
	number, days := strings.CutSuffix(o.olderThan, "d")
	age, err := time.ParseDuration(number + view.When(days, "h"))
	if err != nil || age < 0 || age > math.MaxInt64/24 || o.keep < 0 {
		return nil, app.Usagef("--older-than is a time such as 30d or 12h, and --keep a number of runs")
	}
	for _, e := range entries[min(o.keep, len(entries)):] {
		if len(refs) == 0 && time.Since(e.Started) > age*view.Either[time.Duration](days, 24, 1) {
			ids[e.ID] = true
		}
	}
	return ids, nil
}

// removals lists the chosen runs, newest first. One that another run needs stays.
func (o removeOptions) removals(l *history.Store, entries []history.Entry, chosen map[string]bool) []Removal {
	list, needed := []Removal{}, map[string]bool{}
	for _, e := range entries {
		past, err := l.Open(e.ID)
		var sum *history.Summary
		if err == nil {
			sum, err = past.Summary()
		}
		r := Removal{Entry: e, tried: []string{e.ID}} // one that cannot be read may have any attempts
		if err == nil {
			r.tried = triedIn(sum)
		}
		r.Attempts = len(r.tried)
		if chosen[e.ID] {
			r.Stays = o.stays(e, needed[e.ID])
			list = append(list, r)
		}
		if err == nil && (!chosen[e.ID] || r.Stays != "") {
			for _, s := range sum.Steps {
				needed[s.MadeIn] = true
			}
		}
	}
	return list
}

// triedIn are the addresses of the attempts that a run began.
func triedIn(sum *history.Summary) (tried []string) {
	for _, s := range sum.Steps {
		if s.Kind == conditions.AttemptKind && !s.Started.IsZero() {
			tried = append(tried, s.Address)
		}
	}
	return tried
}

// stays is why a chosen run is not removed; "" if it is.
func (o removeOptions) stays(e history.Entry, needed bool) string {
	host, _ := os.Hostname()
	switch {
	case e.State == history.Running:
		return "running"
	case o.force:
		return ""
	case e.OfOthers():
		return "of user " + view.OneLine(e.User)
	case e.State == history.Paused:
		return "paused; mleflow runs continue goes on"
	case e.State == history.Interrupted && cmp.Or(e.Host, host) != host:
		return "without an end, and perhaps running on " + view.OneLine(e.Host)
	case needed:
		return "needed by another run, whose results it made and whose logs it has"
	}
	return ""
}

// showRemovals shows what is about to be removed and what that means.
func showRemovals(a *app.App, list []Removal) error {
	var going []history.Entry
	attempts, stays := 0, map[string]int{}
	for _, r := range list {
		if r.Stays != "" {
			stays[r.Stays]++
			continue
		}
		going, attempts = append(going, r.Entry), attempts+r.Attempts
	}
	for _, why := range view.SortedKeys(stays) {
		fmt.Fprintf(a.Stdout, "%s: %s.\n", view.Verb(stays[why], "run", "stays", "stay"), why)
	}
	if len(going) == 0 {
		return nil
	}
	err := showRuns(a.Store, going)
	fmt.Fprintf(a.Stdout, "\nTheir plans, journals and logs go: they can no longer be shown, compared, continued or bundled.\nResults stay "+
		"until mleflow cache gc evicts them, and pins stay.%s\n", view.When(attempts > 0, " "+view.Verb(attempts, "attempt", "still counts as a try", "still count as tries")+"."))
	return err
}

func newRunsCleanup(a *app.App) *cobra.Command {
	var on app.ClusterFlags
	var cancel bool
	cmd := a.Command("cleanup", "Show or end what interrupted runs have left running", app.Takes(0, 0),
		func(cmd *cobra.Command, _ []string) error {
			if on.Path(a.Terminal) == "" {
				return endAbandoned(cmd.Context(), a, cancel)
			}
			return a.WithBackend(func(b *app.Backend) error {
				if err := a.AttachFleet(cmd.Context(), b, &on, ""); err != nil {
					return err
				}
				s, err := b.Fleet.Sweep(cmd.Context(), cancel)
				if err != nil {
					return err
				}
				return a.Show(s, func() {
					fmt.Fprintf(a.Stdout, "Cancelled %s, removed %s, cleared %s from the remote cache; %s.\n",
						view.Plural(s.Cancelled, "job"), view.Plural(s.Removed, "job"), view.Plural(s.Cleared, "action"), view.Verb(s.Live, "job", "goes on", "go on"))
				})
			})
		}, &on)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "end the agents, or cancel waiting and running jobs, and clear what belongs to no job")
	return cmd
}

// endAbandoned counts or ends the agents that were left on this machine.
func endAbandoned(ctx context.Context, a *app.App, end bool) error {
	return a.WithCache(func(store *disk.Cache) error {
		parts, err := a.Concretes()
		if err != nil {
			return err
		}
		n, err := agentrun.Abandoned(ctx, store, parts.Runtimes, func(string) bool { return end })
		if err != nil {
			return err
		}
		what := view.Either(end, "Ended "+view.Plural(n, "agent"), view.Verb(n, "agent", "goes on", "go on"))
		return a.Show(map[string]any{"agents": n, "ended": end}, func() { fmt.Fprintln(a.Stdout, what+" on this machine.") })
	})
}
