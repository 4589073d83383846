package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
)

func newValidate(a *app) *cobra.Command {
	var in inputFlags
	cmd := &cobra.Command{
		Use:   "validate [FILE.hcl]",
		Short: "Check a pipeline without reading the cache",
		Long:  "Check a pipeline: syntax, names, types, references, cycles, and who may see\nwhat. The exit status is 2 if it is not valid. --json prints the diagnostics as\nan object.",
		Args:  oneFile,
		RunE: a.action(func(_ *cobra.Command, args []string) error {
			path, err := a.namedPipeline(args)
			if err != nil {
				return err
			}
			return runValidate(a, path, in)
		}),
	}
	in.register(cmd)
	return cmd
}

func runValidate(a *app, path string, in inputFlags) error {
	a.usePipeline(path)
	e, err := a.bareEngine()
	if err != nil {
		return err
	}
	p, diags := e.Load(path, config.Inputs{Environ: a.environ, Assignments: in.assignments})
	if !diags.HasErrors() {
		diags = append(diags, e.Check(p)...)
	}
	if a.json {
		return validity(a.terminal, diags)
	}
	if err := a.settle(diags, p); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s is valid: %s in %s.\n", path, view.Plural(len(p.Instances), "step"), view.Plural(len(p.Pipeline.Steps), "block"))
	return nil
}

// validity writes the diagnostics as the result of validate --json.
func validity(t *terminal, diags diag.List) error {
	if err := writeJSON(t.stdout, map[string]any{"valid": !diags.HasErrors(), "diagnostics": diag.ToJSON(diags)}); err != nil {
		return err
	}
	if diags.HasErrors() {
		return fmt.Errorf("%w: %w", errSilent, usagef("the pipeline is not valid"))
	}
	return nil
}
