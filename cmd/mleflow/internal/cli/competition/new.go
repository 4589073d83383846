package competition

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/rehearsal"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// newOptions are the flags of competition new.
type newOptions struct {
	dir, from, raw string
	draft          kit.DraftOptions
}

func newCompetitionNew(a *app.App) *cobra.Command {
	var o newOptions
	cmd := a.Command("new ID", "Write a working skeleton of a competition, or draft one from data", app.Takes(1, 1),
		func(cmd *cobra.Command, args []string) error {
			if o.raw != "" && !app.IsFolder(o.raw) {
				return app.Usagef("there is no folder %s; --raw names the folder with the raw data", o.raw)
			}
			if o.raw != "" && a.JSON {
				return app.Usagef("--raw and --json exclude each other; mleflow competition rehearsal makes the data and takes --json")
			}
			folder, err := newCompetition(cmd.Context(), a, o, args[0])
			if err != nil || o.raw == "" {
				return err
			}
			return makeRehearsal(cmd.Context(), a, folder, o.raw, rehearsal.Options{})
		})
	cmd.Flags().StringVar(&o.dir, "dir", "", "write below `DIR` (default: --competitions, else the folder competitions)")
	cmd.Flags().StringVar(&o.raw, "raw", "", "make data for rehearsals of the shape of the raw data in `DIR`; with --from kaggle:SLUG, draft the definition from its CSV files, too")
	cmd.Flags().StringVar(&o.from, "from", "tabular", "make it from `SKELETON`: tabular, image, text, kaggle:SLUG, or a folder of CSV files")
	cmd.Flags().StringArrayVar(&o.draft.Targets, "target", nil, "in a draft, predict the column `NAME`; repeatable")
	cmd.Flags().StringVar(&o.draft.ID, "id", "", "in a draft, the column `NAME` names the rows")
	cmd.Flags().StringVar(&o.draft.Metric, "metric", "", "in a draft, score by the metric `NAME`, ours or Kaggle's")
	return cmd
}

// newCompetition writes a competition below o.dir or, without it, below the folder of
// competitions that the command line or the environment names. It returns its folder.
func newCompetition(ctx context.Context, a *app.App, o newOptions, id string) (_ string, err error) {
	if o.dir, err = newBelow(a, o.dir); err != nil {
		return "", err
	}
	return filepath.Join(o.dir, id), writeCompetition(ctx, a, o, id)
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

func writeCompetition(ctx context.Context, a *app.App, o newOptions, id string) error {
	write, err := o.writer(ctx, a, id)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	notes, err := write(o.dir, id)
	if err != nil {
		if _, system := errors.AsType[*fs.PathError](err); system && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return app.Wrong(err)
	}
	made := NewJSON{Path: filepath.Join(o.dir, id, competitions.FileName), Notes: notes}
	return a.Show(made, func() {
		for _, n := range notes {
			fmt.Fprintf(a.Stdout, "%s %s\n", map[bool]string{false: "Guessed: ", true: "Question:"}[n.Question], view.OneLine(n.Text))
		}
		next := "  mleflow competition test %s --competitions %s\n  mleflow init -c %s --competitions %s\n"
		if _, ok := kit.KaggleSlug(o.from); ok {
			next = "  mleflow prepare -c %s --competitions %s --data-dir data\n  mleflow competition test %s --competitions %s --data-dir data\n"
		}
		fmt.Fprintf(a.Stdout, "Wrote %s. Next:\n\n  mleflow competition lint %s --competitions %s\n"+next, made.Path, id, o.dir, id, o.dir, id, o.dir)
	})
}

// NewJSON is what competition new prints with --json.
type NewJSON struct {
	Path string `json:"path"`
	// Notes are what a draft guessed, and its questions.
	Notes []kit.Note `json:"notes,omitempty"`
}

// pageTime is how long Kaggle may take to describe a competition; the draft does without then.
const pageTime = 20 * time.Second

// writer returns what writes the folder: a skeleton, or a draft of a folder or a page.
func (o newOptions) writer(ctx context.Context, a *app.App, id string) (func(dir, id string) ([]kit.Note, error), error) {
	draft := o.draft
	draft.Metrics = metric.All()
	slug, isKaggle := kit.KaggleSlug(o.from)
	switch {
	case isKaggle:
		err := kit.CheckNames(id, o.from)
		if err != nil {
			return nil, app.Wrong(err)
		}
		draft.Files, draft.Page = o.raw, &kit.Page{Slug: slug}
		ctx, cancel := context.WithTimeout(ctx, pageTime)
		defer cancel()
		if draft.Page.Title, draft.Page.Metric, err = source.NewKaggle(source.NewHTTP(nil)).Page(ctx, slug); err != nil {
			fmt.Fprintf(a.Stderr, "Without the title and the metric of the page: %s\n", view.OneLine(err.Error()))
		}
	case !slices.Contains(kit.Skeletons(), o.from) && app.IsFolder(o.from):
		draft.Files = o.from
	case len(draft.Targets) > 0 || draft.ID != "" || draft.Metric != "":
		return nil, app.Usagef("--target, --id and --metric are for drafts: --from FOLDER or --from kaggle:SLUG")
	default:
		return func(dir, id string) ([]kit.Note, error) { return nil, kit.New(dir, id, o.from) }, nil
	}
	return func(dir, id string) ([]kit.Note, error) { return kit.Draft(dir, id, draft) }, nil
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
