package competition

import (
	"context"
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
)

// newOptions are the folder to write below, the skeleton, and the raw data of a rehearsal.
type newOptions struct {
	dir, from string
	shapeFlags
}

func newCompetitionNew(a *app.App) *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:   "new ID",
		Short: "Write a working skeleton of a competition",
		Long: `Write DIR/ID with a competition.hcl that works as it is, and small made-up data
to be replaced: a table of numbers (tabular), labelled pictures (image), or
texts (text). kaggle:SLUG makes the skeleton of a Kaggle competition, whose data
must be downloaded. --raw also makes data for rehearsals, as competition
rehearsal does.`,
		Example: `  mleflow competition new my-competition --from image
  mleflow competition test my-competition --competitions competitions`,
		Args: app.Takes(1, 1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			switch {
			case o.raw != "" && !isFolder(o.raw):
				return o.missing()
			case o.raw == "" && (o.noValues || len(o.skip) > 0):
				return app.Usagef("--no-values and --skip are for --raw")
			}
			return newCompetition(cmd.Context(), a, o, args[0])
		}),
	}
	cmd.Flags().StringVar(&o.dir, "dir", "", "write below `DIR` (default: --competitions, else the folder competitions)")
	cmd.Flags().StringVar(&o.from, "from", "tabular", "make it from `SKELETON`: tabular, image, text or kaggle:SLUG")
	o.register(cmd)
	return cmd
}

// newCompetition writes a skeleton below dir or, without one, below the folder of
// competitions that the command line or the environment names.
func newCompetition(ctx context.Context, a *app.App, o newOptions, id string) error {
	own := a.OwnFolders()
	switch {
	case o.dir != "":
	case len(own) > 1:
		return app.Usagef("there are %d folders of competitions; say with --dir which to write below", len(own))
	case len(own) == 1:
		o.dir = own[0].Path
		if _, err := os.Stat(filepath.Join(o.dir, competitions.FileName)); err == nil {
			return app.Usagef("%s is a competition, not a folder of competitions; say with --dir where to write", o.dir)
		}
	default:
		o.dir = app.OwnCompetitions
	}
	return writeCompetition(ctx, a.Terminal, o, id)
}

// NewJSON is what competition new wrote, with --json.
type NewJSON struct {
	Path      string         `json:"path"`
	Rehearsal *RehearsalJSON `json:"rehearsal,omitempty"`
}

func writeCompetition(ctx context.Context, t *app.Terminal, o newOptions, id string) error {
	dir, from := o.dir, o.from
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
	out := NewJSON{Path: filepath.Join(dir, id, competitions.FileName)}
	if o.raw != "" {
		if out.Rehearsal, err = makeRehearsal(ctx, t, filepath.Join(dir, id), o.shapeFlags); err != nil {
			return err
		}
	}
	if t.JSON {
		return app.WriteJSON(t.Stdout, out)
	}
	fmt.Fprintf(t.Stdout, "Wrote %s. Next:\n\n  mleflow competition lint %s --competitions %s\n", out.Path, id, dir)
	if strings.HasPrefix(from, "kaggle:") {
		fmt.Fprintf(t.Stdout, "  mleflow prepare -c %s --competitions %s --data-dir data\n  mleflow competition test %s --competitions %s --data-dir data\n", id, dir, id, dir)
		return nil
	}
	fmt.Fprintf(t.Stdout, "  mleflow competition test %s --competitions %s\n  mleflow init -c %s --competitions %s\n", id, dir, id, dir)
	return nil
}
