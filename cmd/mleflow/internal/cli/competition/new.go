package competition

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/rehearsal"
)

func newCompetitionNew(a *app.App) *cobra.Command {
	var dir, from, raw string
	cmd := &cobra.Command{
		Use:   "new ID",
		Short: "Write a working skeleton of a competition",
		Args:  app.Takes(1, 1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if raw != "" && !app.IsFolder(raw) {
				return app.Usagef("there is no folder %s; --raw names the folder with the raw data", raw)
			}
			if raw != "" && a.JSON {
				return app.Usagef("--raw and --json exclude each other; mleflow competition rehearsal makes the data and takes --json")
			}
			folder, err := newCompetition(a, dir, args[0], from)
			if err != nil || raw == "" {
				return err
			}
			return makeRehearsal(cmd.Context(), a, folder, raw, rehearsal.Options{})
		}),
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write below `DIR` (default: --competitions, else the folder competitions)")
	cmd.Flags().StringVar(&raw, "raw", "", "make data for rehearsals of the shape of the raw data in `DIR`")
	cmd.Flags().StringVar(&from, "from", "tabular", "make it from `SKELETON`: tabular, image, text or kaggle:SLUG")
	return cmd
}

// newCompetition writes a skeleton below dir or, without one, below the folder of
// competitions that the command line or the environment names. It returns its folder.
func newCompetition(a *app.App, dir, id, from string) (string, error) {
	own := a.OwnFolders()
	switch {
	case dir != "":
	case len(own) > 1:
		return "", app.Usagef("there are %d folders of competitions; say with --dir which to write below", len(own))
	case len(own) == 1:
		dir = own[0].Path
		if _, err := os.Stat(filepath.Join(dir, competitions.FileName)); err == nil {
			return "", app.Usagef("%s is a competition, not a folder of competitions; say with --dir where to write", dir)
		}
	default:
		dir = app.OwnCompetitions
	}
	return filepath.Join(dir, id), writeCompetition(a.Terminal, dir, id, from)
}

func writeCompetition(t *app.Terminal, dir, id, from string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	err := kit.New(dir, id, from)
	var system *fs.PathError
	if errors.Is(err, fs.ErrExist) || err != nil && !errors.As(err, &system) {
		return app.Wrong(err)
	}
	if err != nil {
		return err
	}
	path := filepath.Join(dir, id, "competition.hcl")
	return t.Show(map[string]string{"path": path}, func() {
		next := "  mleflow competition test %s --competitions %s\n  mleflow init -c %s --competitions %s\n"
		if strings.HasPrefix(from, "kaggle:") {
			next = "  mleflow prepare -c %s --competitions %s --data-dir data\n  mleflow competition test %s --competitions %s --data-dir data\n"
		}
		fmt.Fprintf(t.Stdout, "Wrote %s. Next:\n\n  mleflow competition lint %s --competitions %s\n"+next, path, id, dir, id, dir, id, dir)
	})
}
