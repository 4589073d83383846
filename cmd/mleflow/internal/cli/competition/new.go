package competition

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/rehearsal"
)

func newCompetitionNew(a *app.App) *cobra.Command {
	var dir, from, raw string
	cmd := a.Command("new ID", "Write a working skeleton of a competition", app.Takes(1, 1),
		func(cmd *cobra.Command, args []string) error {
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
		})
	cmd.Flags().StringVar(&dir, "dir", "", "write below `DIR` (default: --competitions, else the folder competitions)")
	cmd.Flags().StringVar(&raw, "raw", "", "make data for rehearsals of the shape of the raw data in `DIR`")
	cmd.Flags().StringVar(&from, "from", "tabular", "make it from `SKELETON`: tabular, image, text or kaggle:SLUG")
	return cmd
}

// newCompetition writes a skeleton below dir or, without one, below the folder of
// competitions that the command line or the environment names. It returns its folder.
func newCompetition(a *app.App, dir, id, from string) (string, error) {
	dir, err := newBelow(a, dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, id), writeCompetition(a.Terminal, dir, id, from)
}

// newBelow returns the folder below which a new competition is written.
func newBelow(a *app.App, dir string) (string, error) {
	own := a.OwnFolders()
	switch {
	case dir != "":
		return dir, nil
	case len(own) > 1:
		return "", app.Usagef("there are %d folders of competitions; say with --dir which to write below", len(own))
	case len(own) == 0:
		return app.OwnCompetitions, nil
	}
	if _, err := os.Stat(filepath.Join(own[0].Path, competitions.FileName)); err == nil {
		return "", app.Usagef("%s is a competition, not a folder of competitions; say with --dir where to write", own[0].Path)
	}
	return own[0].Path, nil
}

func writeCompetition(t *app.Terminal, dir, id, from string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := kit.New(dir, id, from); err != nil {
		if _, system := errors.AsType[*fs.PathError](err); system && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return app.Wrong(err)
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

func newCompetitionRehearsal(a *app.App) *cobra.Command {
	var raw string
	var o rehearsal.Options
	cmd := a.Command("rehearsal FOLDER", "Make small synthetic data for rehearsals of a competition", app.Takes(1, 1),
		func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(filepath.Join(args[0], competitions.FileName)); err != nil {
				return app.Usagef("there is no %s; name the competition's folder", filepath.Join(args[0], competitions.FileName))
			}
			if !app.IsFolder(raw) {
				return app.Usagef("there is no folder %s; --raw names the folder with the raw data", raw)
			}
			return makeRehearsal(cmd.Context(), a, args[0], raw, o)
		})
	cmd.Flags().StringVar(&raw, "raw", "", "make the rehearsal of the shape of the raw data in `DIR`")
	cmd.Flags().BoolVar(&o.NoValues, "no-values", false, "copy no values of categories, and only two digits of numbers")
	cmd.Flags().StringArrayVar(&o.Skip, "skip", nil, "leave out files and folders whose path or name matches `GLOB`; repeatable")
	_ = cmd.MarkFlagRequired("raw")
	return cmd
}

// makeRehearsal writes the data of a competition's rehearsal and prepares them with its
// definition.
func makeRehearsal(ctx context.Context, a *app.App, folder, raw string, o rehearsal.Options) error {
	catalog, err := competitions.LoadFolder(competitions.Folder{Path: folder})
	if err != nil {
		return app.Shown(err)
	}
	o.ID = catalog.IDs()[0]
	set, err := rehearsal.Draw(ctx, os.DirFS(raw), o)
	if err != nil {
		return err
	}
	set.Path = filepath.Join(folder, competitions.RehearsalName)
	if err := wholefile.Replace(set.Path, wholefile.Bytes(set.Packed)); err != nil {
		return err
	}
	err = a.Show(set, func() {
		fmt.Fprintf(a.Stdout, "Wrote %s: %s, %s.\n", set.Path, view.Plural(set.Files, "file"), view.Bytes(int64(set.Bytes)))
		for _, c := range set.Copied {
			fmt.Fprintf(a.Stdout, "Copied the values of %s.\n", view.OneLine(c))
		}
	})
	work, tempErr := os.MkdirTemp("", "rehearsal-")
	def, defErr := catalog.Get(o.ID)
	if err = errors.Join(err, tempErr, defErr); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	_, err = a.PrepareShipped(ctx, dataset.Job{Def: def.Rehearsed(), Layout: dataset.Layout{Dir: work}, SkipVerification: true})
	if diags, ok := errors.AsType[hcl.Diagnostics](err); ok {
		a.ShowDiagnostics(diags, def.Files())
		err = app.ErrSilent
	}
	if err != nil {
		fmt.Fprintln(a.Stderr, `The definition does not prepare the data. If a number is that of the full data, make it a parameter with a value for rehearsals: param "rows" { default = 9914  rehearsal = 100 }.`)
	}
	return err
}
