package pipeline

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
)

// NewValidate returns the command validate.
func NewValidate(a *app.App) *cobra.Command {
	var in app.InputFlags
	cmd := &cobra.Command{
		Use:   "validate [FILE.hcl]",
		Short: "Check a pipeline without reading the cache",
		Args:  app.OneFile,
		RunE: a.Action(func(_ *cobra.Command, args []string) error {
			path, err := a.NamedPipeline(args)
			if err != nil {
				return err
			}
			return runValidate(a, path, in)
		}),
	}
	in.Register(cmd)
	return cmd
}

func runValidate(a *app.App, path string, in app.InputFlags) error {
	a.UsePipeline(path)
	e, err := a.BareEngine()
	if err != nil {
		return err
	}
	var p *engine.Program
	var diags diag.List
	a.Interrupts.Reading(func() {
		p, diags = e.Load(path, config.Inputs{Environ: a.Environ, Assignments: in.Assignments})
		if !diags.HasErrors() {
			diags = append(append(diags, e.Check(p)...), app.CheckEvaluation(p)...)
		}
	})
	if a.JSON {
		return validity(a.Terminal, diags)
	}
	if err := a.Settle(diags, p); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s is valid: %s in %s.\n", path, view.Plural(len(p.Instances), "step"), view.Plural(len(p.Pipeline.Steps), "block"))
	return nil
}

// validity writes the diagnostics as the result of validate --json.
func validity(t *app.Terminal, diags diag.List) error {
	if err := app.WriteJSON(t.Stdout, map[string]any{"valid": !diags.HasErrors(), "diagnostics": diag.ToJSON(diags)}); err != nil {
		return err
	}
	if diags.HasErrors() {
		return fmt.Errorf("%w: %w", app.ErrSilent, app.Usagef("the pipeline is not valid"))
	}
	return nil
}
