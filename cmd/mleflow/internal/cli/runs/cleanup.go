package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/steps/agentrun"
)

func newRunsCleanup(a *app.App) *cobra.Command {
	var on app.ClusterFlags
	var cancel bool
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Show or end what interrupted runs have left running",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(cmd *cobra.Command, _ []string) (err error) {
			if on.Path(a.Terminal) == "" {
				return endAbandoned(cmd.Context(), a, cancel)
			}
			b, err := a.OpenBackend()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, b.Close()) }()
			if err := a.AttachFleet(cmd.Context(), b, &on, ""); err != nil {
				return err
			}
			s, err := b.Fleet.Sweep(cmd.Context(), cancel)
			if err != nil {
				return err
			}
			if a.JSON {
				return app.WriteJSON(a.Stdout, s)
			}
			fmt.Fprintf(a.Stdout, "Cancelled %s, removed %s, cleared %s from the remote cache; %s.\n",
				view.Plural(s.Cancelled, "job"), view.Plural(s.Removed, "job"), view.Plural(s.Cleared, "action"), view.Verb(s.Live, "job", "goes on", "go on"))
			return nil
		}),
	}
	on.Register(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "end the agents, or cancel waiting and running jobs, and clear what belongs to no job")
	return cmd
}

// endAbandoned counts or ends the agents that were left on this machine.
func endAbandoned(ctx context.Context, a *app.App, end bool) (err error) {
	store, err := a.OpenCache()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	parts, err := a.Concretes()
	if err != nil {
		return err
	}
	n, err := agentrun.Abandoned(ctx, store, parts.Runtimes, func(string) bool { return end })
	if err != nil {
		return err
	}
	if a.JSON {
		return app.WriteJSON(a.Stdout, map[string]any{"agents": n, "ended": end})
	}
	what := view.Verb(n, "agent", "goes on", "go on") + " on this machine"
	if end {
		what = "Ended " + view.Plural(n, "agent") + " on this machine"
	}
	fmt.Fprintln(a.Stdout, what+".")
	return nil
}
