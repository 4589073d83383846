package proof

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/data/winnow"
)

// NewFingerprint returns the command fingerprint.
func NewFingerprint(a *app.App) *cobra.Command {
	return app.Group(a, "fingerprint", "Find copied code: build a database of fingerprints, compare code with it", newFingerprintBuild(a), newFingerprintCompare(a))
}

type fingerprintBuildOptions struct {
	output   string
	common   float64
	noSource bool
}

func newFingerprintBuild(a *app.App) *cobra.Command {
	var o fingerprintBuildOptions
	cmd := a.Command("build DIR -o FILE",
		"Make a database of fingerprints of the Python files and notebooks below DIR", app.Takes(1, 1),
		func(_ *cobra.Command, args []string) error {
			if o.output == "" {
				return app.Usagef("-o FILE says where to write")
			}
			if !(o.common > 0 && o.common <= 1) {
				return app.Usagef("--common is %v; it must be above 0 and at most 1", o.common)
			}
			return buildFingerprints(a, args[0], o)
		})
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `FILE`")
	cmd.Flags().Float64Var(&o.common, "common", winnow.DefaultCommon, "`SHARE` of documents that makes a fingerprint boilerplate")
	cmd.Flags().BoolVar(&o.noSource, "no-source", false, "leave the code itself out")
	return cmd
}

// BuiltFingerprints is what fingerprint build says.
type BuiltFingerprints struct {
	File      string             `json:"file"`
	Digest    string             `json:"sha256"`
	Documents int                `json:"documents"`
	Tokens    int                `json:"tokens"`
	Skipped   []pysource.Skipped `json:"skipped,omitempty"`
}

func buildFingerprints(a *app.App, dir string, o fingerprintBuildOptions) error {
	sources, skipped, err := readCode(dir)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return app.Usagef("%s holds no .py or .ipynb file that can be read", dir)
	}
	done := BuiltFingerprints{File: o.output, Documents: len(sources), Skipped: skipped}
	db := &winnow.Database{Method: winnow.Default, Common: o.common}
	for _, s := range sources {
		d := winnow.NewDocument(s.Name, []*pysource.Source{s})
		done.Tokens += d.Tokens()
		db.Documents = append(db.Documents, d)
	}
	sum := digest.NewWriter()
	err = wholefile.Create(o.output, 0o666, func(w io.Writer) error { return db.Write(io.MultiWriter(w, sum), !o.noSource) })
	if err != nil {
		return fmt.Errorf("write fingerprints: %w", err)
	}
	done.Digest = sum.ID().String()
	return a.Show(done, func() {
		fmt.Fprintf(a.Stdout, "Wrote %s: %s, %s, sha256 %s.\n", done.File, view.Plural(done.Documents, "document"), view.Plural(done.Tokens, "token"), done.Digest)
		showSkipped(a.Terminal, done.Skipped)
	})
}

// showSkipped warns of files that were not read, which could hide something.
func showSkipped(t *app.Terminal, skipped []pysource.Skipped) {
	for _, s := range skipped {
		fmt.Fprintf(t.Stderr, "Not read: %s: %s.\n", view.OneLine(s.Name), view.OneLine(s.Reason))
	}
}

// readCode reads the code of a folder, or one file.
func readCode(path string) ([]*pysource.Source, []pysource.Skipped, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, app.Wrong(fmt.Errorf("read code: %w", err))
	}
	if info.IsDir() {
		return pysource.ReadDir(os.DirFS(path))
	}
	if !pysource.IsCode(path) {
		return nil, nil, app.Usagef("%s is neither a folder nor a .py or .ipynb file", path)
	}
	s, err := pysource.ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, nil, app.Wrong(fmt.Errorf("read %s: %w", path, err))
	}
	return []*pysource.Source{s}, nil, nil
}

// codeOutput is the output of an attempt that holds its code.
const codeOutput = "code"

func newFingerprintCompare(a *app.App) *cobra.Command {
	var all bool
	cmd := a.Command("compare DATABASE (CODE | RUN KEY)",
		"Show what code has in common with a database of fingerprints", app.Takes(2, 3),
		func(cmd *cobra.Command, args []string) error {
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
		})
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
	if _, err = f.WriteTo(sum); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read fingerprints: %w", err)
	}
	db, err := winnow.Read(f)
	if err != nil {
		return nil, "", app.Wrong(fmt.Errorf("%s: %w", path, err))
	}
	return db, sum.ID().String(), nil
}

// attemptCode reads the code that an attempt left.
func attemptCode(ctx context.Context, a *app.App, run, key string) (sources []*pysource.Source, skipped []pysource.Skipped, err error) {
	past, err := a.FindRun([]string{run})
	if err != nil {
		return nil, nil, err
	}
	err = a.WithRecord(ctx, past, key, func(c app.ResultCache, rec *cache.Record) error {
		if rec.Outputs[codeOutput].Ref.IsZero() {
			return app.Usagef("%s has no output code: it is no attempt of an agent", view.OneLine(rec.Address))
		}
		sources, skipped, err = pysource.ReadDir(tree.NewFS(ctx, c, rec.Outputs[codeOutput].Ref))
		return err
	})
	return sources, skipped, err
}

func showComparison(a *app.App, c Comparison, all bool) error {
	listed := lists.Where(c.Matches, func(m winnow.Match) bool { return all || m.Suspicious() })
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
