package runs

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/report"
	"github.com/mleflow/mleflow/engine/history"
)

// NewReport returns the command report.
func NewReport(a *app.App) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report [RUN] -o FILE.html",
		Short: "Write a run as one HTML file that opens offline",
		Args:  app.Needs(app.Takes(0, 1), "output"),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			return WriteReport(cmd.Context(), a, args, out)
		}),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write (required)")
	return cmd
}

// WriteReport writes the page of the run that the arguments name.
func WriteReport(ctx context.Context, a *app.App, args []string, out string) error {
	past, err := a.FindRun(args)
	if err != nil {
		return err
	}
	return a.WithResults(past, func(c app.ResultCache) error {
		data, err := collect(ctx, a, c, past)
		if err != nil {
			return err
		}
		if out == "-" {
			return report.Write(a.Stdout, data)
		}
		return writePage(a.Terminal, out, data)
	})
}

func collect(ctx context.Context, a *app.App, c app.ResultCache, past *history.Past) (report.Data, error) {
	if err := a.UseRun(past); err != nil {
		return report.Data{}, err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return report.Data{}, err
	}
	return report.Collect(ctx, report.Source{Run: past, Store: c, Index: c, Catalog: catalog, Tail: a.Tail})
}

func writePage(t *app.Terminal, path string, data report.Data) error {
	if err := wholefile.Replace(path, func(w io.Writer) error { return report.Write(w, data) }); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if t.JSON {
		return app.WriteJSON(t.Stdout, map[string]string{"run": data.Run.ID, "path": path})
	}
	fmt.Fprintf(t.Stdout, "Wrote %s (run %s).\n", path, data.Run.ID)
	return nil
}
