package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/steps/agentrun"
)

func newRunsCleanup(a *app) *cobra.Command {
	var on clusterFlags
	var cancel bool
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Show or end what interrupted runs have left running",
		Long:  "Count the agents that interrupted runs left running here; --cancel ends them.\nWith --on, remove ended jobs from the cluster's backends, and orders and events\nthat nobody works on from the remote cache. Results stay. --cancel first cancels\njobs that wait or run, whoever started them.",
		Args:  takes(0, 0),
		RunE: a.action(func(cmd *cobra.Command, _ []string) (err error) {
			if a.clusterPath(&on) == "" {
				return a.endAbandoned(cmd.Context(), cancel)
			}
			b, err := a.openBackend()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, b.Close()) }()
			if err := a.attachFleet(cmd.Context(), b, &on, ""); err != nil {
				return err
			}
			s, err := b.fleet.Sweep(cmd.Context(), cancel)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.stdout, s)
			}
			fmt.Fprintf(a.stdout, "Cancelled %s, removed %s, cleared %s from the remote cache; %s.\n",
				view.Plural(s.Cancelled, "job"), view.Plural(s.Removed, "job"), view.Plural(s.Cleared, "action"), goingOn(s.Live, "job"))
			return nil
		}),
	}
	on.register(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "end the agents, or cancel waiting and running jobs, and clear what belongs to no job")
	return cmd
}

// endAbandoned counts or ends the agents that were left on this machine.
func (a *app) endAbandoned(ctx context.Context, end bool) (err error) {
	store, err := a.openCache()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	parts, err := a.concretes()
	if err != nil {
		return err
	}
	n, err := agentrun.Abandoned(ctx, store, parts.runtimes, end)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.stdout, map[string]any{"agents": n, "ended": end})
	}
	what := goingOn(n, "agent") + " on this machine"
	if end {
		what = "Ended " + view.Plural(n, "agent") + " on this machine"
	}
	fmt.Fprintln(a.stdout, what+".")
	return nil
}
