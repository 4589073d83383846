package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/report"
	"github.com/mleflow/mleflow/engine/ledger"
)

func newReport(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report [RUN] -o FILE.html",
		Short: "Write a run as one HTML file that opens offline",
		Long:  "Write a run as one HTML file without network or scripts: leaderboard, scores\nagainst medals and people, timeline, graph, steps, environment and pins. RUN is\nan id, the beginning of one, or \"latest\" (the default). \"-\" is the standard\noutput.",
		Args:  needs(takes(0, 1), "output"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.writeReport(cmd.Context(), args, out)
		}),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write (required)")
	return cmd
}

// writeReport writes the page of the run that the arguments name.
func (a *app) writeReport(ctx context.Context, args []string, out string) error {
	past, err := a.findRun(args)
	if err != nil {
		return err
	}
	return a.withResults(past, func(c resultCache) error {
		data, err := a.collect(ctx, c, past)
		if err != nil {
			return err
		}
		if out == "-" {
			return report.Write(a.stdout, data)
		}
		return writePage(a.terminal, out, data)
	})
}

func (a *app) collect(ctx context.Context, c resultCache, past *ledger.Past) (report.Data, error) {
	if err := a.useRun(past); err != nil {
		return report.Data{}, err
	}
	catalog, err := a.catalog()
	if err != nil {
		return report.Data{}, err
	}
	return report.Collect(ctx, report.Source{Run: past, Store: c, Index: c, Catalog: catalog, Tail: a.tail})
}

func writePage(t *terminal, path string, data report.Data) error {
	if err := wholefile.Replace(path, func(w io.Writer) error { return report.Write(w, data) }); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if t.json {
		return writeJSON(t.stdout, map[string]string{"run": data.Run.ID, "path": path})
	}
	fmt.Fprintf(t.stdout, "Wrote %s (run %s).\n", path, data.Run.ID)
	return nil
}
