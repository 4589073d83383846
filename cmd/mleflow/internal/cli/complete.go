package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
)

// completer gives a shell what may be written at a place.
type completer = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// completeRuns completes runs as the first arguments, as many as given, and
// addresses of the first run's steps after them.
func (a *app) completeRuns(runs int, addresses bool) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var found []string
		switch {
		case len(args) < runs:
			found = a.runIDs()
		case len(args) == runs && addresses:
			found = a.runSteps(args[0])
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// runIDs lists the runs, newest first.
func (a *app) runIDs() []string {
	l, err := a.openLedger()
	if err != nil {
		return nil
	}
	entries, err := l.List()
	if err != nil || len(entries) == 0 {
		return nil
	}
	ids := []string{"latest"}
	for _, e := range entries {
		ids = append(ids, cobra.CompletionWithDesc(e.ID, pipelineName(e)))
	}
	return ids
}

func (a *app) runSteps(run string) (addresses []string) {
	past, err := a.findRun([]string{run})
	if err != nil {
		return nil
	}
	sum, err := past.Summary()
	if err != nil {
		return nil
	}
	for _, s := range sum.Steps {
		addresses = append(addresses, s.Address)
	}
	return addresses
}

// completePipeline completes the pipeline's file, and the values of those of
// -var, -target and -force that a command has.
func (a *app) completePipeline(cmd *cobra.Command) {
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
	}
	steps := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return addressesOf(a.glance(args)), cobra.ShellCompDirectiveNoFileComp
	}
	variables := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return variablesOf(a.glance(args)), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	for name, complete := range map[string]completer{"target": steps, "force": steps, "var": variables} {
		if cmd.Flags().Lookup(name) != nil {
			// It fails only if there is no such flag.
			_ = cmd.RegisterFlagCompletionFunc(name, complete)
		}
	}
}

// glance reads the pipeline that the arguments name, as far as it can be read;
// nil if it cannot.
func (a *app) glance(args []string) *engine.Program {
	path, err := pipelineFile(args)
	if err != nil {
		return nil
	}
	e, err := a.bareEngine()
	if err != nil {
		return nil
	}
	p, _ := e.Load(path, config.Inputs{Environ: a.environ})
	return p
}

func variablesOf(p *engine.Program) (names []string) {
	if p == nil || p.Pipeline == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Pipeline.Variables)) {
		names = append(names, name+"=")
	}
	return names
}

// addressesOf lists the blocks of a pipeline, then their instances.
func addressesOf(p *engine.Program) (addresses []string) {
	if p == nil {
		return nil
	}
	for _, i := range p.Instances {
		if block := i.Addr.Step.String(); !slices.Contains(addresses, block) {
			addresses = append(addresses, block)
		}
	}
	for _, i := range p.Instances {
		if i.Addr.HasKey {
			addresses = append(addresses, i.Addr.String())
		}
	}
	return addresses
}
