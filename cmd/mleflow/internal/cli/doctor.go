package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

func newDoctor(a *app) *cobra.Command {
	var what string
	var on clusterFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine can run, and say how to get what is missing",
		Long:  "Check processors, memory, disk, cache folder, runtimes, GPUs and Kaggle\ncredentials (never printed). The sandbox is tried. The exit status is 1 if\nsomething is missing that every pipeline needs.\n\n--print only writes what a container needs for the sandbox in it: seccomp is a\nprofile for Docker, Podman and Kubernetes, pod the settings of a Kubernetes pod.\n\n--on FILE checks a cluster instead: the remote cache, and each backend's reach,\npermissions and nodes, and whether it would take a job. It starts none.",
		Example: `  mleflow doctor --on cluster.hcl
  docker run --security-opt seccomp=<(mleflow doctor --print seccomp) --security-opt systempaths=unconfined …
  mleflow doctor --print seccomp >/var/lib/kubelet/seccomp/mleflow.json`,
		Args: takes(0, 0),
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			if what != "" {
				return a.printSettings(what)
			}
			if on.on != "" {
				return a.examineCluster(cmd.Context(), &on)
			}
			m, err := a.machine()
			if err != nil {
				return err
			}
			return showChecks(a.terminal, m.Examine(cmd.Context()))
		}),
	}
	cmd.Flags().StringVar(&on.on, "on", "", "check a cluster `FILE` in place of this machine")
	cmd.Flags().StringVar(&what, "print", "", "print what a container around mleflow needs: `seccomp or pod`")
	return cmd
}

// printSettings prints what a container needs for the runtime sandbox.
func (a *app) printSettings(what string) error {
	text := []byte(machine.PodSettings)
	switch what {
	case "pod":
	case "seccomp":
		var err error
		if text, err = sandbox.SeccompProfile(); err != nil {
			return fmt.Errorf("make the seccomp profile: %w", err)
		}
	default:
		return usagef("--print %s: write seccomp or pod", what)
	}
	_, err := a.stdout.Write(text)
	return err
}

// machine is the one that mleflow runs on.
func (s *store) machine() (m machine.Machine, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, fmt.Errorf("find the running program: %w", err)
	}
	folder, err := s.cacheFolder()
	home, _ := os.UserHomeDir()
	try := sync.OnceValue(func() executor.Availability { return machine.TrySandbox(self, filepath.Join(folder, "sandbox")) })
	return machine.Machine{Root: "/", Home: home, Env: s.env, CacheDir: folder, UID: os.Geteuid(), Sandbox: try, Refused: sandbox.RefusedCalls}, err
}

func showChecks(t *terminal, checks []machine.Check) error {
	fit := machine.Fit(checks)
	if t.json {
		if err := writeJSON(t.stdout, map[string]any{"ok": fit, "checks": checks}); err != nil {
			return err
		}
	} else {
		writeChecks(t, checks)
	}
	if !fit {
		return errSilent
	}
	return nil
}

func writeChecks(t *terminal, checks []machine.Check) {
	style := t.outStyle()
	marks := map[machine.Status]string{
		machine.OK: style.Good("ok     "), machine.Warn: style.Warn("warning"),
		machine.Absent: style.Dim("absent "), machine.Missing: style.Bad("missing"),
	}
	for _, c := range checks {
		fmt.Fprintf(t.stdout, "%s  %-15s  %s\n", marks[c.Status], c.Name, view.OneLine(c.Detail))
		if c.Fix != "" && (c.Status != machine.OK || t.verbose) {
			fmt.Fprintf(t.stdout, "%26s %s\n", "", style.Dim(c.Fix))
		}
		for line := range strings.Lines(c.Example) {
			fmt.Fprintf(t.stdout, "%26s   %s", "", line)
		}
	}
}
