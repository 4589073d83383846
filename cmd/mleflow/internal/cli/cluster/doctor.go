package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// NewDoctor returns the command doctor.
func NewDoctor(a *app.App) *cobra.Command {
	var what string
	var on app.ClusterFlags
	var in app.InputFlags
	cmd := &cobra.Command{
		Use:   "doctor [FILE.hcl]",
		Short: "Check what this machine can run, and say how to get what is missing",
		Args:  app.OneFile,
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if what != "" {
				return printSettings(a, what)
			}
			var checks []machine.Check
			if on.On != "" {
				var err error
				if checks, err = examineCluster(cmd.Context(), a, &on); err != nil {
					return err
				}
			} else {
				m, err := a.Machine()
				if err != nil {
					return err
				}
				if len(args) > 0 {
					m.Folder = filepath.Dir(args[0])
				}
				checks = m.Examine(cmd.Context())
			}
			if len(args) > 0 {
				more, err := examinePipeline(cmd.Context(), a, args, in, &on)
				if err != nil {
					return err
				}
				checks = append(checks, more...)
			}
			return showChecks(a.Terminal, checks)
		}),
	}
	cmd.Flags().StringVar(&on.On, "on", "", "check a cluster `FILE` in place of this machine")
	in.Register(cmd)
	cmd.Flags().StringVar(&what, "print", "", "print what a container around mleflow needs: `seccomp or pod`")
	return cmd
}

// examinePipeline lists what the steps of a pipeline need and this machine lacks.
func examinePipeline(ctx context.Context, a *app.App, args []string, in app.InputFlags, on *app.ClusterFlags) (checks []machine.Check, err error) {
	if on.On == "" {
		on = nil
	}
	err = a.WithProgram(ctx, args, in, on, func(b *app.Backend, p *engine.Program) error {
		pl, diags := b.Engine.Plan(ctx, p, engine.PlanOptions{})
		if err := a.Settle(diags, p); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, s := range pl.Steps {
			missing := s.Missing
			if s.Unfit != "" {
				missing = append(slices.Clone(missing), s.Name+": "+s.Unfit)
			}
			for _, text := range missing {
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
	return checks, err
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

func showChecks(t *app.Terminal, checks []machine.Check) error {
	fit := machine.Fit(checks)
	err := t.Show(map[string]any{"ok": fit, "checks": checks}, func() { writeChecks(t, checks) })
	if err == nil && !fit {
		err = app.ErrSilent
	}
	return err
}

func writeChecks(t *app.Terminal, checks []machine.Check) {
	style := t.OutStyle()
	marks := map[machine.Status]string{
		machine.OK: style.Good("ok     "), machine.Warn: style.Warn("warning"),
		machine.Absent: style.Dim("absent "), machine.Missing: style.Bad("missing"),
	}
	for _, c := range checks {
		fmt.Fprintf(t.Stdout, "%s  %-15s  %s\n", marks[c.Status], c.Name, view.OneLine(c.Detail))
		if c.Fix != "" && (c.Status != machine.OK || t.Verbose) {
			fmt.Fprintf(t.Stdout, "%26s %s\n", "", style.Dim(c.Fix))
		}
		for line := range strings.Lines(c.Example) {
			fmt.Fprintf(t.Stdout, "%26s   %s", "", line)
		}
	}
}
