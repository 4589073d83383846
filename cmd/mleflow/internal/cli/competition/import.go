package competition

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/importer"
)

func newCompetitionImport(a *app.App) *cobra.Command {
	var o importer.Options
	cmd := a.Command("import FOLDER", "Make a competition of a folder in the form of MLE-bench or MLE-Dojo", app.Takes(1, 1),
		func(_ *cobra.Command, args []string) error {
			if !app.IsFolder(args[0]) {
				return app.Usagef("there is no folder %s; name one with config.yaml, prepare.py and grade.py", args[0])
			}
			if o.Better != "" && o.Better != "higher" && o.Better != "lower" {
				return app.Usagef("--better is higher or lower, not %q", o.Better)
			}
			var err error
			if o.Into, err = newBelow(a, o.Into); err != nil {
				return err
			}
			made, err := importer.Import(args[0], o)
			if err != nil {
				return app.Shown(app.Wrong(err))
			}
			return a.Show(made, func() { showImported(a.Terminal, made, o.Into) })
		})
	flags := cmd.Flags()
	flags.StringVar(&o.Format, "format", "", "read it as `FORMAT`: mlebench or mledojo (default: by its files)")
	flags.StringVar(&o.Into, "dir", "", "write below `DIR` (default: --competitions, else the folder competitions)")
	flags.StringVar(&o.ID, "id", "", "call it `NAME` instead of its own identifier")
	flags.StringVar(&o.Requirements, "requirements", "", "take the packages from `FILE`, not from what the code imports")
	flags.StringVar(&o.Better, "better", "", "`DIRECTION` of scores if there is no leaderboard: higher or lower")
	flags.StringVar(&o.Complexity, "complexity", "medium", "its `RATING`: low, medium or high")
	return cmd
}

func showImported(t *app.Terminal, made importer.Result, dir string) {
	fmt.Fprintf(t.Stdout, "Wrote %s: %s, %s, %s.\n", made.Path, view.Plural(made.Teams, "team"), view.Plural(made.Pins, "pin"), view.Plural(len(made.Packages), "package"))
	for _, note := range made.Notes {
		fmt.Fprintf(t.Stdout, "Note: %s.\n", view.OneLine(note))
	}
	if len(made.Unknown) > 0 {
		fmt.Fprintf(t.Stdout, "Note: the code imports %s; add their packages to requirements.txt.\n", strings.Join(made.Unknown, ", "))
	}
	id := made.Competition
	fmt.Fprintf(t.Stdout, "Next:\n\n  mleflow prepare -c %s --competitions %s --data-dir data --keep-raw\n  mleflow competition test %s --competitions %[2]s --data-dir data\n", id, dir, id)
}
