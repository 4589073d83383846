package competition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/rehearsal"
)

// shapeFlags select the raw data whose shape a rehearsal gets.
type shapeFlags struct {
	raw      string
	noValues bool
	skip     []string
}

func (f *shapeFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.raw, "raw", "", "make the rehearsal of the shape of the raw data in `DIR`")
	cmd.Flags().BoolVar(&f.noValues, "no-values", false, "with --raw: copy no values of categories, and only two digits of numbers")
	cmd.Flags().StringArrayVar(&f.skip, "skip", nil, "with --raw: leave out files and folders whose path or name matches `GLOB`; repeatable")
}

func (f *shapeFlags) missing() error {
	return app.Usagef("there is no folder %s; --raw names the folder with the raw data", f.raw)
}

func newCompetitionRehearsal(a *app.App) *cobra.Command {
	var shape shapeFlags
	cmd := &cobra.Command{
		Use:   "rehearsal FOLDER",
		Short: "Make small synthetic data for rehearsals of a competition",
		Long: `Write FOLDER/rehearsal.tar.zst, next to the definition: small synthetic data of
the shape of the raw data, for steps with data = "rehearsal". Ids and texts are
made up. Copied are names of columns and folders, quantiles of numbers, and the
values of categories, which are listed; --no-values copies fewer.

Tables, text, JSON, PNG, JPEG and archives of these can be drawn. Of a table the
first 200,000 rows are read. At the end the definition prepares the data; the
exit status is 1 if it cannot.`,
		Example: `  mleflow competition rehearsal competitions/my-competition --raw data/my-competition/raw`,
		Args:    app.Takes(1, 1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(filepath.Join(args[0], competitions.FileName)); err != nil {
				return app.Usagef("there is no %s; name the competition's folder", filepath.Join(args[0], competitions.FileName))
			}
			made, err := makeRehearsal(cmd.Context(), a.Terminal, args[0], shape)
			if err != nil {
				return err
			}
			if a.JSON {
				err = app.WriteJSON(a.Stdout, made)
			}
			if err == nil && !made.Prepared {
				return app.ErrSilent
			}
			return err
		}),
	}
	shape.register(cmd)
	_ = cmd.MarkFlagRequired("raw")
	return cmd
}

// RehearsalJSON is what competition rehearsal made, with --json.
type RehearsalJSON struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
	Files int    `json:"files"`
	// Copied are the columns whose values are copied, Partial the files of which only the
	// first rows were read.
	Copied  []rehearsal.Copied `json:"copied"`
	Partial []string           `json:"partial"`
	// Prepared says that the definition prepares the data; Error says why not.
	Prepared bool   `json:"prepared"`
	Error    string `json:"error,omitempty"`
}

// makeRehearsal writes the data of a competition's rehearsal, prepares them with its
// definition and, without --json, says how that went.
func makeRehearsal(ctx context.Context, t *app.Terminal, folder string, shape shapeFlags) (*RehearsalJSON, error) {
	if !isFolder(shape.raw) {
		return nil, shape.missing()
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	def, broken := definitionIn(folder)
	id := filepath.Base(whole)
	if broken == nil {
		id = def.ID
	}
	set, err := rehearsal.Draw(ctx, os.DirFS(shape.raw), rehearsal.Options{ID: id, NoValues: shape.noValues, Skip: shape.skip})
	if err != nil {
		return nil, err
	}
	made := &RehearsalJSON{Path: filepath.Join(folder, competitions.RehearsalName), Bytes: len(set.Packed), Files: set.Files, Copied: set.Copied, Partial: set.Partial}
	if err := wholefile.Replace(made.Path, wholefile.Bytes(set.Packed)); err != nil {
		return nil, err
	}
	if broken == nil {
		broken = rehearsal.Try(ctx, def, set.Packed)
	}
	if made.Prepared = broken == nil; !made.Prepared {
		made.Error = broken.Error()
	}
	if !t.JSON {
		made.show(t, def, broken)
	}
	return made, nil
}

// definitionIn loads the definition of a competition's folder.
func definitionIn(folder string) (*competitions.Definition, error) {
	catalog, err := competitions.LoadFolder(competitions.Folder{Path: folder})
	if err != nil {
		return nil, err
	}
	return catalog.Get(catalog.IDs()[0])
}

func (r *RehearsalJSON) show(t *app.Terminal, def *competitions.Definition, broken error) {
	fmt.Fprintf(t.Stdout, "Wrote %s: %s, %s.\n", r.Path, view.Plural(r.Files, "file"), view.Bytes(int64(r.Bytes)))
	for _, name := range r.Partial {
		fmt.Fprintf(t.Stdout, "Read only the first rows of %s.\n", view.OneLine(name))
	}
	for i, c := range r.Copied {
		if i == 0 || r.Copied[i-1].File != c.File {
			fmt.Fprintf(t.Stdout, "Copied the values of: %s", view.OneLine(c.File))
		}
		end := ","
		if i == len(r.Copied)-1 || r.Copied[i+1].File != c.File {
			end = "\n"
		}
		fmt.Fprintf(t.Stdout, " %s (%d)%s", view.OneLine(c.Column), c.Values, end)
	}
	if r.Prepared {
		fmt.Fprintln(t.Stdout, "The definition prepares the data.")
		return
	}
	fmt.Fprintln(t.Stderr, "The definition does not prepare the data:")
	var diags hcl.Diagnostics
	var wrong *competitions.LoadError
	switch {
	case errors.As(broken, &wrong):
		t.ShowDiagnostics(wrong.Diags, wrong.Files)
	case errors.As(broken, &diags):
		t.ShowDiagnostics(diags, def.Files())
	default:
		fmt.Fprintln(t.Stderr, view.Text(broken.Error()))
	}
	fmt.Fprintln(t.Stderr, `If a number is that of the full data, make it a parameter with a value for rehearsals: param "rows" { default = 9914  rehearsal = 100 }.`)
}
