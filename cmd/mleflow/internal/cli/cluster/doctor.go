package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/fleet"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/cluster/kubernetes"
	"github.com/mleflow/mleflow/plugins/cluster/slurm"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// NewDoctor returns the command doctor.
func NewDoctor(a *app.App) *cobra.Command {
	var what, shared string
	var try, clean, thief bool
	var competition string
	var on app.ClusterFlags
	var in app.InputFlags
	cmd := a.Command("doctor [FILE.hcl]", "Check what this machine can run, and say how to get what is missing", app.OneFile,
		func(cmd *cobra.Command, args []string) error {
			if what != "" {
				return printSettings(a, what)
			}
			if clean && shared == "" {
				return app.Usagef("--clean removes what --shared DIR left: write that, too")
			}
			if thief {
				list, err := attack(cmd.Context(), a, args, in, competition)
				if err != nil {
					return err
				}
				return showAttacks(a.Terminal, list)
			}
			if competition != "" {
				return app.Usagef("-c names the data of an attack: write --attack, too")
			}
			m, err := a.Machine()
			if err != nil {
				return err
			}
			var checks, more []machine.Check
			var steps []plan.Step
			if len(args) > 0 {
				if steps, more, err = examinePipeline(cmd.Context(), a, args, in, &on); err != nil {
					return err
				}
			}
			switch {
			case shared != "":
				checks, err = m.Share(shared, clean)
			case on.On != "":
				checks, err = examineCluster(cmd.Context(), a, &on, steps, try)
			default:
				if len(args) > 0 {
					m.Folder = filepath.Dir(args[0])
				}
				checks = m.Examine(cmd.Context())
			}
			if err != nil {
				return err
			}
			return showChecks(a.Terminal, append(checks, machine.In("pipeline", more...)...))
		}, &in)
	cmd.Flags().StringVar(&on.On, "on", "", "check a cluster `FILE` in place of this machine")
	cmd.Flags().BoolVar(&try, "try", false, "run a real job also where the cluster file is in a Git repository")
	cmd.Flags().StringVar(&shared, "shared", "", "check a folder `DIR` that users of a group share, and leave a trace for the next user to check")
	cmd.Flags().BoolVar(&clean, "clean", false, "with --shared, remove the traces")
	cmd.Flags().BoolVar(&thief, "attack", false, "run a thief in place of agents, and say what it reached")
	cmd.Flags().StringVarP(&competition, "competition", "c", "", "with --attack, the data of the competition `ID` (default demo-digits)")
	cmd.Flags().StringVar(&what, "print", "", "print what a container around mleflow needs: `seccomp or pod`")
	cmd.MarkFlagsMutuallyExclusive("attack", "on", "shared", "print")
	return cmd
}

// examinePipeline lists what the steps of a pipeline need and this machine lacks.
func examinePipeline(ctx context.Context, a *app.App, args []string, in app.InputFlags, on *app.ClusterFlags) (steps []plan.Step, checks []machine.Check, err error) {
	if on.On == "" {
		on = nil
	}
	err = a.WithProgram(ctx, args, in, on, func(b *app.Backend, p *engine.Program) error {
		pl, diags := b.Engine.Plan(ctx, p, engine.PlanOptions{})
		if err := a.Settle(diags, p); err != nil {
			return err
		}
		seen := map[string]bool{}
		steps = pl.Steps
		for _, same := range lists.Grouped(pl.Steps, func(s plan.Step) [2]string { return [2]string{s.Kind, s.Unfit} }) {
			if why := same[0].Unfit; why != "" {
				checks = append(checks, machine.Check{Name: "pipeline", Status: machine.Missing, Detail: fmt.Sprintf("%s of kind %s: %s", view.Plural(len(same), "step"), same[0].Kind, why)})
			}
		}
		for _, s := range pl.Steps {
			for _, text := range s.Missing {
				if !seen[text] {
					checks = append(checks, machine.Check{Name: "pipeline", Status: machine.Missing, Detail: text})
				}
				seen[text] = true
			}
		}
		if len(checks) == 0 {
			checks = append(checks, machine.Check{Name: "pipeline", Status: machine.OK, Detail: args[0] + ": nothing is missing that can be known before it runs"})
		}
		return nil
	})
	return steps, checks, err
}

// printSettings prints what a container needs for the runtime sandbox.
func printSettings(a *app.App, what string) error {
	text := []byte(machine.PodSettings)
	switch what {
	case "pod":
	case "seccomp":
		var err error
		if text, err = sandbox.SeccompProfile(); err != nil {
			return fmt.Errorf("make the seccomp profile: %w", err)
		}
	default:
		return app.Usagef("--print %s: write seccomp or pod", what)
	}
	_, err := a.Stdout.Write(text)
	return err
}

// FoundJSON is what doctor prints with --json.
type FoundJSON struct {
	OK      bool            `json:"ok"`
	Verdict string          `json:"verdict"`
	Checks  []machine.Check `json:"checks"`
	// Attacks are what --attack tried.
	Attacks []Attack `json:"attacks,omitempty"`
}

func showChecks(t *app.Terminal, checks []machine.Check) error {
	verdict, fit := machine.Verdict(checks)
	return app.Failing(t.Show(FoundJSON{OK: fit, Verdict: verdict, Checks: checks}, func() {
		writeChecks(t, checks)
		fmt.Fprintf(t.Stdout, "\nVerdict: %s\n", verdict)
	}), !fit)
}

// titles are the headings of sections.
var titles = map[string]string{
	"machine": "Machine", "cache": "Cache and its file system", "agents": "Agents", "accounts": "Accounts", "pipeline": "Pipeline",
	"cluster": "Cluster", "shared": "Shared folder",
}

func writeChecks(t *app.Terminal, checks []machine.Check) {
	style := t.OutStyle()
	marks := map[machine.Status]string{
		machine.OK: style.Good("ok     "), machine.Warn: style.Warn("warning"),
		machine.Absent: style.Dim("absent "), machine.Missing: style.Bad("missing"),
	}
	section := ""
	for _, c := range checks {
		if c.Section != section {
			fmt.Fprintf(t.Stdout, "%s\n", style.Bold(titles[c.Section]))
			section = c.Section
		}
		fmt.Fprintf(t.Stdout, "%s  %-15s  %s\n", marks[c.Status], c.Name, view.OneLine(c.Detail))
		if c.Fix != "" && (c.Status != machine.OK || t.Verbose) {
			fmt.Fprintf(t.Stdout, "%26s %s\n", "", style.Dim(c.Fix))
		}
		for line := range strings.Lines(c.Example) {
			fmt.Fprintf(t.Stdout, "%26s   %s", "", line)
		}
	}
}

const (
	// examineTime bounds what one part of a cluster may take to answer.
	examineTime = 30 * time.Second
	// tryTime bounds a real job.
	tryTime = 2 * time.Minute
)

// examineCluster checks what a cluster file names, and what these steps ask of it.
func examineCluster(ctx context.Context, a *app.App, flags *app.ClusterFlags, steps []plan.Step, try bool) (checks []machine.Check, err error) {
	f, err := flags.File(a.Terminal)
	if err != nil || f == nil {
		return nil, err
	}
	add := func(prefix string, list ...cluster.Check) {
		for _, c := range list {
			checks = append(checks, checkOf(prefix, c))
		}
	}
	meets, err := examineRemote(ctx, a, f)
	if err != nil {
		return nil, err
	}
	add("", meets)
	if err := cluster.Own(f.Path); err != nil {
		add("", cluster.Check{Name: "cluster file", Optional: true, Detail: err.Error(), Fix: "who may write to it chooses what runs as you"})
	}
	for _, b := range f.Backends {
		limited, stop := context.WithTimeout(ctx, examineTime)
		found := b.Examine(limited, b.Examples(steps)...)
		add(b.Name+": ", found...)
		for _, c := range []*cluster.Check{fleet.ExamineTime(limited, b), fleet.ExamineGrace(b)} {
			if c != nil {
				add(b.Name+": ", *c)
			}
		}
		stop()
		switch {
		case b.Kind == "local" || slices.ContainsFunc(found, func(c cluster.Check) bool { return !c.OK && !c.Optional }):
		case try || !cloned(f.Path):
			add(b.Name+": ", cluster.Try(ctx, b, b.Examples(nil)[0], tryTime))
		default:
			add(b.Name+": ", cluster.Check{
				Name: "real job", Optional: true, Fix: "if the file is yours, add --try",
				Detail: "not started: the cluster file is in a Git repository, and doctor runs nothing that a repository names",
			})
		}
	}
	return machine.In("cluster", checks...), nil
}

// cloned reports whether a file is in a Git repository, which may be a stranger's.
func cloned(path string) bool {
	return slices.ContainsFunc(checkout.Roots(filepath.Dir(path)), func(root string) bool {
		_, err := os.Lstat(filepath.Join(root, ".git"))
		return err == nil
	})
}

// examineRemote tries the remote cache of a cluster file.
func examineRemote(ctx context.Context, a *app.App, f *fleet.File) (c cluster.Check, err error) {
	loc, _, err := a.MeetingPlace(f, "")
	if err != nil {
		return cluster.Check{Name: "remote cache", Detail: err.Error(), Fix: "see docs/cluster.md"}, nil //nolint:nilerr // it is the finding
	}
	err = a.WithBackend(func(b *app.Backend) error {
		b.Remote = remote.New(b.Cache, loc, remote.Options{Warn: a.Warn})
		ctx, stop := context.WithTimeout(ctx, examineTime)
		defer stop()
		c = fleet.ExamineCache(ctx, b.Remote)
		return nil
	})
	return c, err
}

func checkOf(prefix string, c cluster.Check) machine.Check {
	m := machine.Check{Name: prefix + c.Name, Status: machine.Missing, Detail: c.Detail, Fix: c.Fix}
	if c.OK {
		m.Status, m.Fix = machine.OK, ""
	} else if c.Optional {
		m.Status = machine.Warn
	}
	return m
}

// NewCluster returns the command cluster.
func NewCluster(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "cluster", Short: "Prepare a cluster that runs steps"}
	cmd.AddCommand(newClusterInit(a))
	return cmd
}

func newClusterInit(a *app.App) *cobra.Command {
	var kind string
	var i kubernetes.Init
	cmd := a.Command("init", "Print what a cluster needs before it can run steps", app.Takes(0, 0),
		func(*cobra.Command, []string) error {
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
		})
	flags := cmd.Flags()
	flags.StringVar(&kind, "print", "", "print what a cluster of this `KIND` needs: kubernetes or slurm")
	flags.StringVar(&i.Namespace, "namespace", "mleflow", "the `NAME` of the namespace")
	flags.StringVar(&i.Cache, "cache-path", "/var/lib/mleflow", "the `FOLDER` of the cache on each node")
	flags.StringVar(&i.Image, "node-image", "docker.io/library/busybox:1.37", "an `IMAGE` with a shell, which prepares the nodes")
	return cmd
}
