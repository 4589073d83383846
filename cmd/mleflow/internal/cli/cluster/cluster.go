package cluster

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/plugins/cluster/kubernetes"
	"github.com/mleflow/mleflow/plugins/cluster/slurm"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// NewCluster returns the command cluster.
func NewCluster(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "cluster", Short: "Prepare a cluster that runs steps"}
	cmd.AddCommand(newClusterInit(a))
	return cmd
}

func newClusterInit(a *app.App) *cobra.Command {
	var kind string
	var i kubernetes.Init
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print what a cluster needs before it can run steps",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(*cobra.Command, []string) error {
			switch kind {
			case "kubernetes":
			case "slurm":
				_, err := io.WriteString(a.Stdout, slurm.Setup(i.Cache))
				return err
			default:
				return app.Usagef("--print %q: write kubernetes or slurm", kind)
			}
			var err error
			if i.Seccomp, err = sandbox.SeccompProfile(); err != nil {
				return fmt.Errorf("make the seccomp profile: %w", err)
			}
			text, err := kubernetes.Manifests(i)
			if err != nil {
				return app.Wrong(err)
			}
			_, err = io.WriteString(a.Stdout, text)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "print", "", "print what a cluster of this `KIND` needs: kubernetes or slurm")
	flags.StringVar(&i.Namespace, "namespace", "mleflow", "the `NAME` of the namespace")
	flags.StringVar(&i.Cache, "cache-path", "/var/lib/mleflow", "the `FOLDER` of the cache on each node")
	flags.StringVar(&i.Image, "node-image", "docker.io/library/busybox:1.37", "an `IMAGE` with a shell, which prepares the nodes")
	return cmd
}
