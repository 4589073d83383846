package cli

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
)

// offered is the directive for what is one of a list, in its order.
const offered = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// completeRuns completes runs, newest first.
func (c *completion) completeRuns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	l, err := c.OpenHistory()
	if err != nil {
		return nil, offered
	}
	entries, err := l.List()
	if err != nil || len(entries) == 0 {
		return nil, offered
	}
	ids := []string{"latest"}
	for _, e := range entries {
		ids = append(ids, cobra.CompletionWithDesc(e.ID, e.PipelineName()))
	}
	return ids, offered
}

// summary is the run that a command is about; nil if it cannot be read.
func (c *completion) summary(cmd *cobra.Command, args []string) *history.Summary {
	if f := cmd.Flag("run"); f != nil {
		args = []string{f.Value.String()}
	}
	past, err := c.FindRun(args)
	if err != nil {
		return nil
	}
	sum, err := past.Summary()
	if err != nil {
		return nil
	}
	return sum
}

// completeRunSteps completes the addresses of a run.
func (c *completion) completeRunSteps(cmd *cobra.Command, args []string, _ string) (addresses []string, _ cobra.ShellCompDirective) {
	if sum := c.summary(cmd, args); sum != nil {
		for _, s := range view.InOrder(sum.Steps, view.StepAddress) {
			addresses = append(addresses, s.Address)
		}
	}
	return addresses, offered
}

// completeContent completes the addresses of a run, and the outputs of one that
// is written already.
func (c *completion) completeContent(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if f := cmd.Flag("all"); f != nil && f.Changed {
		return nil, offered
	}
	addresses, directive := c.completeRunSteps(cmd, args, start)
	sum := c.summary(cmd, args)
	if sum == nil {
		return nil, directive
	}
	for _, s := range sum.Steps {
		if !strings.HasPrefix(start, s.Address) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
			addresses = append(addresses, s.Address+"."+name)
		}
	}
	return addresses, directive
}

// completeOutputs completes the outputs of a run's pipeline.
func (c *completion) completeOutputs(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if sum := c.summary(cmd, nil); sum != nil {
		for _, o := range sum.Outputs {
			names = append(names, o.Name)
		}
	}
	return names, offered
}

// completeCached completes the addresses that the cache has results of.
func (comp *completion) completeCached(cmd *cobra.Command, _ []string, _ string) (addresses []string, _ cobra.ShellCompDirective) {
	_ = comp.WithCache(func(c *disk.Cache) error {
		items, err := c.List(context.WithoutCancel(cmd.Context()))
		for _, item := range items {
			addresses = append(addresses, item.Address)
		}
		return err
	})
	slices.Sort(addresses)
	return view.InOrder(slices.Compact(addresses), func(a string) string { return a }), offered
}

// completePins completes the names of pins.
func (comp *completion) completePins(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	_ = comp.WithCache(func(c *disk.Cache) error {
		pins, err := c.Pins(cmd.Context())
		for _, p := range pins {
			names = append(names, p.Name)
		}
		return err
	})
	return names, offered
}

// completeIDs completes competitions that are not among the arguments yet.
func (c *completion) completeIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if f := cmd.Flag("dir"); f != nil && f.Changed {
		c.CompetitionDirs = append(c.CompetitionDirs, f.Value.String())
	}
	catalog, err := c.Catalog()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.DeleteFunc(catalog.IDs(), func(id string) bool { return slices.Contains(args, id) }), offered
}

// completeCategories completes the categories of all competitions.
func (c *completion) completeCategories(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	catalog, err := c.Catalog()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, id := range catalog.IDs() {
		if name := catalog.Category(id); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), offered
}

// completeVersions completes the versions of the competitions among the arguments.
func (c *completion) completeVersions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"v1"}
	if catalog, err := c.Catalog(); err == nil {
		for _, id := range args {
			if def, err := catalog.Get(id); err == nil {
				names = append(names, def.Versions()...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), offered
}

// completeParameters completes the parameters of the competitions that the
// command line names.
func (c *completion) completeParameters(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if f := cmd.Flag("competition"); f != nil {
		if several, ok := f.Value.(pflag.SliceValue); ok {
			args = append(args, several.GetSlice()...)
		} else {
			args = append(args, f.Value.String())
		}
	}
	if catalog, err := c.Catalog(); err == nil {
		for _, id := range args {
			def, err := catalog.Get(id)
			if err != nil {
				continue
			}
			for _, name := range def.ParamNames() {
				names = append(names, name+"=")
			}
		}
	}
	return names, offered | cobra.ShellCompDirectiveNoSpace
}

// completeVariables completes the variables of a pipeline, or of that of a run.
func (c *completion) completeVariables(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if p := c.glanceAt(cmd, args); p != nil && p.Pipeline != nil {
		for _, name := range slices.Sorted(maps.Keys(p.Pipeline.Variables)) {
			names = append(names, name+"=")
		}
	}
	return names, offered | cobra.ShellCompDirectiveNoSpace
}

// glanceAt reads the pipeline that a command is about, as far as it can be read;
// nil if it cannot.
func (c *completion) glanceAt(cmd *cobra.Command, args []string) *engine.Program {
	if takesRun := cmd.Name() == "bundle" || cmd.Name() == "verify"; !takesRun {
		return c.glance(args)
	}
	past, err := c.FindRun(args)
	if err != nil {
		return nil
	}
	sources, err := past.Sources()
	if err != nil {
		return nil
	}
	e, err := c.BareEngine()
	if err != nil {
		return nil
	}
	path := past.Info.Pipeline
	p, _ := e.Parse(path, sources[filepath.Base(path)], config.Inputs{Files: sources})
	return p
}

func (c *completion) glance(args []string) *engine.Program {
	path, err := app.PipelineFile(args)
	if err != nil {
		return nil
	}
	c.UsePipeline(path)
	e, err := c.BareEngine()
	if err != nil {
		return nil
	}
	p, _ := e.Load(path, config.Inputs{Environ: c.Environ})
	return p
}

// completeExplain completes a pipeline's file or an address, and an address
// after the file.
func (c *completion) completeExplain(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return orFiles(c.completeSteps)(cmd, args, start)
	case 1:
		return c.completeSteps(cmd, args, start)
	}
	return nil, offered
}

// completeSteps completes the blocks of a pipeline, then their instances.
func (c *completion) completeSteps(_ *cobra.Command, args []string, _ string) (addresses []string, _ cobra.ShellCompDirective) {
	p := c.glance(args)
	if p == nil {
		return nil, offered
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
	return addresses, offered
}

// completeRetry completes the values of -retry: its words, then addresses.
func (c *completion) completeRetry(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	steps, directive := c.completeSteps(cmd, args, start)
	return slices.Concat(outcome.RetryWords(), steps), directive
}
