package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can run and how to get what is missing",
		Long:  "Look at processors, memory, disk, the cache folder, container runtimes, GPUs and\nKaggle credentials (which are never printed). The exit status is 1 when something\nis missing that every pipeline needs.",
		Args:  takes(0, 0),
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			folder, err := a.cacheFolder()
			if err != nil {
				return err
			}
			home, _ := os.UserHomeDir()
			m := machine.Machine{Root: "/", Home: home, Env: a.env, CacheDir: folder}
			return a.showChecks(m.Examine(cmd.Context()))
		}),
	}
}

func (a *app) showChecks(checks []machine.Check) error {
	fit := machine.Fit(checks)
	if a.json {
		if err := writeJSON(a.stdout, map[string]any{"ok": fit, "checks": checks}); err != nil {
			return err
		}
	} else {
		a.writeChecks(checks)
	}
	if !fit {
		return errSilent
	}
	return nil
}

func (a *app) writeChecks(checks []machine.Check) {
	style := a.outStyle()
	marks := map[machine.Status]string{
		machine.OK: style.Good("ok     "), machine.Warn: style.Warn("warning"),
		machine.Absent: style.Dim("absent "), machine.Missing: style.Bad("missing"),
	}
	for _, c := range checks {
		fmt.Fprintf(a.stdout, "%s  %-15s  %s\n", marks[c.Status], c.Name, view.OneLine(c.Detail))
		if c.Fix != "" && (c.Status != machine.OK || a.verbose) {
			fmt.Fprintf(a.stdout, "%26s %s\n", "", style.Dim(c.Fix))
		}
	}
}
