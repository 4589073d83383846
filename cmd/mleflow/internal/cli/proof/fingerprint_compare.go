package proof

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/data/winnow"
)

// codeOutput is the output of an attempt that holds its code.
const codeOutput = "code"

func newFingerprintCompare(a *app.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "compare DATABASE (CODE | RUN ADDRESS)",
		Short: "Show what code has in common with a database of fingerprints",
		Args:  app.Takes(2, 3),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			db, sum, err := readFingerprints(args[0])
			if err != nil {
				return err
			}
			var sources []*pysource.Source
			var skipped []pysource.Skipped
			if len(args) == 2 {
				sources, skipped, err = readCode(args[1])
			} else {
				sources, skipped, err = attemptCode(cmd.Context(), a, args[1], args[2])
			}
			if err != nil {
				return err
			}
			found := winnow.NewComparer(db).Compare(winnow.NewDocument(strings.Join(args[1:], " "), sources))
			return showComparison(a, Comparison{sum, len(db.Documents), len(sources), found, skipped}, all)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "list all documents that share anything")
	return cmd
}

// Comparison is what fingerprint compare says.
type Comparison struct {
	Database  string `json:"database"` // SHA-256
	Documents int    `json:"documents"`
	Files     int    `json:"files"`
	winnow.Comparison
	Skipped []pysource.Skipped `json:"skipped,omitempty"`
}

func readFingerprints(path string) (*winnow.Database, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", app.Wrong(err)
	}
	defer f.Close()
	sum := digest.NewWriter()
	if _, err := f.WriteTo(sum); err != nil {
		return nil, "", fmt.Errorf("read fingerprints: %w", err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, "", fmt.Errorf("read fingerprints: %w", err)
	}
	db, err := winnow.Read(f)
	if err != nil {
		return nil, "", app.Wrong(fmt.Errorf("%s: %w", path, err))
	}
	return db, sum.ID().String(), nil
}

// attemptCode reads the code that an attempt left.
func attemptCode(ctx context.Context, a *app.App, run, address string) (sources []*pysource.Source, skipped []pysource.Skipped, err error) {
	past, err := a.FindRun([]string{run})
	if err != nil {
		return nil, nil, err
	}
	err = a.WithRecord(ctx, past, address, func(c app.ResultCache, rec *cache.Record) error {
		if rec.Outputs[codeOutput].Ref.IsZero() {
			return app.Usagef("%s has no output code: it is no attempt of an agent", view.OneLine(address))
		}
		sources, skipped, err = pysource.ReadDir(tree.NewFS(ctx, c, rec.Outputs[codeOutput].Ref))
		return err
	})
	return sources, skipped, err
}

func showComparison(a *app.App, c Comparison, all bool) error {
	var listed []winnow.Match
	for _, m := range c.Matches {
		if all || m.Suspicious() {
			listed = append(listed, m)
		}
	}
	if a.JSON {
		c.Matches = append([]winnow.Match{}, listed...)
		return app.WriteJSON(a.Stdout, c)
	}
	fmt.Fprintf(a.Stdout, "%s with %s, compared with %s.\n", view.Plural(c.Files, "file"), view.Plural(c.Prints, "fingerprint"), view.Plural(c.Documents, "document"))
	fmt.Fprintf(a.Stdout, "Boilerplate: %d. Found in any document: %.0f %% of the rest.\n", c.Common, 100*c.Covered)
	showSkipped(a.Terminal, c.Skipped)
	if len(listed) == 0 {
		fmt.Fprintln(a.Stdout, "No document has enough in common with this code to be listed.")
		return nil
	}
	fmt.Fprintln(a.Stdout)
	t := view.NewTable("Document", ">Copied", ">Owed", ">Longest run")
	for _, m := range listed {
		t.Row(view.OneLine(m.Document), percent(m.Copied), percent(m.Owed), view.Plural(m.Longest.Tokens, "token"))
	}
	a.Table(t)
	for _, m := range listed {
		showFragment(a.Terminal, m)
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func showFragment(t *app.Terminal, m winnow.Match) {
	style := t.OutStyle()
	for _, s := range []struct {
		what string
		side winnow.Side
	}{{"Code", m.Longest.Ours}, {"Document", m.Longest.Theirs}} {
		fmt.Fprintf(t.Stdout, "\n%s\n", style.Bold(fmt.Sprintf("%s %s", s.what, view.OneLine(s.side.Place))))
		if s.side.Text == "" {
			fmt.Fprintln(t.Stdout, "  (the database holds no code)")
		}
		for line := range strings.Lines(s.side.Text) {
			fmt.Fprintf(t.Stdout, "  %s\n", strings.ReplaceAll(view.Text(strings.TrimRight(line, "\n")), "\t", "    "))
		}
	}
}
