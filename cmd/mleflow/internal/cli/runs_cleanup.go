package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

func newRunsCleanup(a *app) *cobra.Command {
	var on clusterFlags
	var cancel bool
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what interrupted runs have left on a cluster",
		Long:  "Remove the jobs that have ended from the backends of a cluster file, and from the remote\ncache the orders and events of actions that nobody works on. Results stay. With --cancel,\njobs that wait or run are cancelled first, whoever started them.",
		Args:  takes(0, 0),
		RunE: a.action(func(cmd *cobra.Command, _ []string) (err error) {
			b, err := a.openBackend()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, b.Close()) }()
			if err := a.attachFleet(cmd.Context(), b, &on, ""); err != nil {
				return err
			}
			if b.fleet == nil {
				return usagef("no cluster file is named; give --on FILE or set %s", onVariable)
			}
			s, err := b.fleet.Sweep(cmd.Context(), cancel)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.stdout, s)
			}
			fmt.Fprintf(a.stdout, "Cancelled %s, removed %s, cleared %s from the remote cache; %s.\n",
				view.Plural(s.Cancelled, "job"), view.Plural(s.Removed, "job"), view.Plural(s.Cleared, "action"), jobsGoOn(s.Live))
			return nil
		}),
	}
	on.register(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "cancel jobs that wait or run, and clear what belongs to no job of these backends")
	return cmd
}
