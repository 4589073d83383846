package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/plugins/cluster/kubernetes"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

func newCluster(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "cluster", Short: "Prepare a cluster that runs steps"}
	cmd.AddCommand(newClusterInit(a))
	return cmd
}

func newClusterInit(a *app) *cobra.Command {
	var kind string
	var i kubernetes.Init
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Print what a cluster needs before it can run steps",
		Long:  "Print the objects that a Kubernetes cluster needs, as YAML for kubectl apply: a namespace, a service account for\nthe controller with the few permissions that it uses, one without any for workers, network policies that deny\nby default, and a DaemonSet that puts the seccomp profile and the folder of the cache on each node. Nothing is sent\nanywhere.",
		Example: `  mleflow cluster init --print kubernetes >mleflow.yaml
  kubectl apply -f mleflow.yaml`,
		Args: takes(0, 0),
		RunE: a.action(func(*cobra.Command, []string) error {
			if kind != "kubernetes" {
				return usagef("--print %s: write kubernetes", kind)
			}
			var err error
			if i.Seccomp, err = sandbox.SeccompProfile(); err != nil {
				return fmt.Errorf("make the seccomp profile: %w", err)
			}
			text, err := kubernetes.Manifests(i)
			if err != nil {
				return usageError{err}
			}
			_, err = a.stdout.Write([]byte(text))
			return err
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "print", "", "print what a cluster of this `KIND` needs: kubernetes")
	flags.StringVar(&i.Namespace, "namespace", "mleflow", "the `NAME` of the namespace")
	flags.StringVar(&i.Cache, "cache-path", "/var/lib/mleflow", "the `FOLDER` of the cache on each node")
	flags.StringVar(&i.Image, "node-image", "docker.io/library/busybox:1.37", "an `IMAGE` with a shell, which prepares the nodes")
	return cmd
}
