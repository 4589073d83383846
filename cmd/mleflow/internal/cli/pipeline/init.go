package pipeline

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/pipelines"
)

//go:embed first.hcl
var firstPipeline []byte

// NewInit returns the command init.
func NewInit(a *app.App) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a first pipeline",
		Args:  app.Takes(0, 1),
		RunE: a.Action(func(_ *cobra.Command, args []string) error {
			path := "pipeline.hcl"
			if len(args) == 1 {
				path = args[0]
			}
			return runInit(a, path, o)
		}),
	}
	cmd.Flags().StringVar(&o.agent, "agent", "", "run the program `PROGRAM`, such as ./agent.py; its first line or suffix says what starts it")
	cmd.Flags().StringVar(&o.model, "model", "", "let the agent ask the model `PROVIDER/NAME`, such as openai/gpt-5.5, through the gateway")
	cmd.Flags().StringVar(&o.from, "from", "", "copy the shipped pipeline `NAME`, such as lite")
	cmd.Flags().StringArrayVarP(&o.ids, "competition", "c", nil, "run on the competition `ID`; repeatable")
	return cmd
}

// shippedPipeline returns the text of a pipeline that is part of the program.
func shippedPipeline(name string) ([]byte, error) {
	text, err := pipelines.Shipped.ReadFile(strings.TrimSuffix(name, ".hcl") + ".hcl")
	if err == nil {
		return text, nil
	}
	return nil, app.Usagef("--from: there is no shipped pipeline %q; there are %s", name, strings.ReplaceAll(strings.Join(ShippedNames(), ", "), ".hcl", ""))
}

// ShippedNames are the files of the pipelines that are part of the program.
func ShippedNames() []string {
	names, err := fs.Glob(pipelines.Shipped, "*.hcl")
	if err != nil {
		panic(err) // the pattern is written here
	}
	return names
}

// initOptions are the flags of init.
type initOptions struct {
	agent, model, from string
	ids                []string
}

func runInit(a *app.App, path string, o initOptions) error {
	text := firstPipeline
	if o.from != "" {
		if o.agent != "" || o.model != "" || len(o.ids) > 0 {
			return app.Usagef("--from copies a pipeline as it is; leave --agent, --model and --competition out and edit the copy")
		}
		var err error
		if text, err = shippedPipeline(o.from); err != nil {
			return err
		}
	}
	if o.agent != "" || o.model != "" {
		if _, err := os.Lstat(path); err == nil { // nothing is written beside it
			return app.Usagef("%s exists and is not overwritten; give another name: mleflow init FILE", path)
		}
		var err error
		if text, err = agentPipeline(a, path, o.agent, o.model); err != nil {
			return err
		}
	}
	if len(o.ids) > 0 {
		var err error
		if text, err = withCompetitions(a.Library, text, path, o.ids); err != nil {
			return err
		}
	}
	err := wholefile.Create(path, 0o644, wholefile.Bytes(text))
	if errors.Is(err, fs.ErrExist) {
		return app.Usagef("%s exists and is not overwritten; give another name: mleflow init FILE", path)
	}
	if err != nil {
		return fmt.Errorf("write first pipeline: %w", err)
	}
	if a.JSON {
		return app.WriteJSON(a.Stdout, map[string]string{"path": path})
	}
	fmt.Fprintf(a.Stdout, "Wrote %[1]s. Next:\n\n  mleflow plan %[1]s        what would run, and why\n  mleflow rehearse %[1]s    try it on tiny synthetic data\n  mleflow apply %[1]s       run it\n", path)
	return nil
}
