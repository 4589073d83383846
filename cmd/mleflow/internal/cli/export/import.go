package export

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/rungroup"
)

type importOptions struct {
	competition, submission, seed, agent, output string
	sample                                       string
	epoch                                        int
}

// NewImport returns the command import.
func NewImport(a *app.App) *cobra.Command {
	return app.Group(a, "import", "Take attempts that were made elsewhere, by their trajectories", newImportATIF(a), newImportInspect(a))
}

func newImportATIF(a *app.App) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "atif TRAJECTORY.json -c ID --submission FILE -o DIR",
		Short: "Take an attempt by its trajectory in ATIF",
		Args:  app.Needs(app.Takes(1, 1), "competition", "output"),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			return o.importFile(cmd.Context(), a, atifModule, "logs/trajectory.json", args[0])
		}),
	}
	o.register(cmd)
	return cmd
}

func newImportInspect(a *app.App) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "inspect LOG.eval --sample ID -c ID --submission FILE -o DIR",
		Short: "Take an attempt by a sample of a log of Inspect AI",
		Args:  app.Needs(app.Takes(1, 1), "sample", "competition", "output"),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			return o.importFile(cmd.Context(), a, inspectModule, "logs/inspect.json", args[0], o.sample, strconv.Itoa(o.epoch))
		}),
	}
	cmd.Flags().StringVar(&o.sample, "sample", "", "the sample `ID`")
	cmd.Flags().IntVar(&o.epoch, "epoch", 1, "epoch `N` of the sample")
	o.register(cmd)
	return cmd
}

func (o *importOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.competition, "competition", "c", "", "the competition `ID`")
	cmd.Flags().StringVar(&o.submission, "submission", "", "the submission, `FILE`; without it there was none")
	cmd.Flags().StringVar(&o.seed, "seed", "", "label the attempt with seed `N`")
	cmd.Flags().StringVar(&o.agent, "agent", "", "call the agent `NAME` (default: as the file does)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "add it to the run group in `DIR`, which is made if it is missing")
}

// ImportedRun is what import says.
type ImportedRun struct {
	RunGroup string `json:"run_group"`
	Run      string `json:"run"`
	Agent    string `json:"agent"`
	Evidence string `json:"evidence"`
}

// importFile takes an attempt by a file that a module reads. Evidence is the name of what it
// read in the run's folder.
func (o *importOptions) importFile(ctx context.Context, a *app.App, m module, evidence, file string, args ...string) error {
	path, err := filepath.Abs(file)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", m.file, err)
	}
	out, err := m.run(ctx, a, func(io.Writer) error { return nil }, append([]string{"import", path}, args...)...)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	claim, err := rungroup.ReadClaim(out, evidence)
	if err != nil {
		return app.Usagef("%s: %w", file, err)
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	if _, err := catalog.Get(o.competition); err != nil {
		return app.Wrong(err)
	}
	if o.agent != "" {
		claim.Agent = o.agent
	}
	dir := filepath.Clean(o.output)
	run, err := rungroup.Import(dir, o.competition, o.seed, o.submission, claim)
	if err != nil {
		return app.Wrong(err)
	}
	if a.JSON {
		return app.WriteJSON(a.Stdout, ImportedRun{dir, run.ID, run.Agent, run.Evidence})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s of %s, %s\n", dir, run.ID, view.OneLine(run.Agent), view.OneLine(run.Evidence))
	return err
}
