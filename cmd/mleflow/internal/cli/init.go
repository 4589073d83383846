package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	_ "embed"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/wholefile"
	"github.com/mleflow/mleflow/pipelines"
)

//go:embed first.hcl
var firstPipeline []byte

func newInit(a *app) *cobra.Command {
	var agent, from string
	var ids []string
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a first pipeline",
		Long:  "Write a first pipeline with comments to FILE (pipeline.hcl). It runs as it is,\nwith data that ship with the binary. No file is overwritten.\n\nWith --agent it runs a program of yours, below its folder, beside two shipped\nagents, on --competition. Competitions of your own are looked for in\n--competitions, or the folder competitions.\n\nWith --from it is a copy of a shipped one. The files that it extends or includes\nare the shipped ones, unless its folder has its own.",
		Example: `  mleflow init --agent ./agent.py
  mleflow init --from lite
  mleflow init -c spaceship-titanic -c leaf-classification`,
		Args: takes(0, 1),
		RunE: a.action(func(_ *cobra.Command, args []string) error {
			path := "pipeline.hcl"
			if len(args) == 1 {
				path = args[0]
			}
			return runInit(a, path, agent, from, ids)
		}),
	}
	cmd.Flags().StringVar(&agent, "agent", "", "run the program `PROGRAM`, such as ./agent.py; its first line or suffix says what starts it")
	cmd.Flags().StringVar(&from, "from", "", "copy the shipped pipeline `NAME`, such as lite")
	cmd.Flags().StringArrayVarP(&ids, "competition", "c", nil, "run on the competition `ID`; repeatable")
	return cmd
}

// shippedPipeline returns the text of a pipeline that is part of the program.
func shippedPipeline(name string) ([]byte, error) {
	text, err := pipelines.Shipped.ReadFile(strings.TrimSuffix(name, ".hcl") + ".hcl")
	if err == nil {
		return text, nil
	}
	return nil, usagef("flag -from: there is no shipped pipeline %q; there are %s", name, strings.ReplaceAll(strings.Join(shippedNames(), ", "), ".hcl", ""))
}

// shippedNames are the files of the pipelines that are part of the program.
func shippedNames() []string {
	names, err := fs.Glob(pipelines.Shipped, "*.hcl")
	if err != nil {
		panic(err) // the pattern is written here
	}
	return names
}

func runInit(a *app, path, agent, from string, ids []string) error {
	text := firstPipeline
	if from != "" {
		if agent != "" || len(ids) > 0 {
			return usagef("--from copies a pipeline as it is; leave --agent and --competition out and edit the copy")
		}
		var err error
		if text, err = shippedPipeline(from); err != nil {
			return err
		}
	}
	if agent != "" {
		if _, err := os.Lstat(path); err == nil { // nothing is written beside it
			return usagef("%s exists and is not overwritten; give another name: mleflow init FILE", path)
		}
		var err error
		if text, err = a.agentPipeline(path, agent); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		var err error
		if text, err = a.withCompetitions(text, path, ids); err != nil {
			return err
		}
	}
	err := wholefile.Create(path, 0o644, wholefile.Bytes(text))
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists and is not overwritten; give another name: mleflow init FILE", path)
	}
	if err != nil {
		return fmt.Errorf("write first pipeline: %w", err)
	}
	if a.json {
		return writeJSON(a.stdout, map[string]string{"path": path})
	}
	fmt.Fprintf(a.stdout, "Wrote %s. Next:\n\n  mleflow plan %s     what would run, and why\n  mleflow apply %s    run it\n", path, path, path)
	return nil
}
