package proof

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
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
	cmd := &cobra.Command{
		Use:   "build DIR -o FILE",
		Short: "Make a database of fingerprints of the Python files and notebooks below DIR",
		Args:  app.Takes(1, 1),
		RunE: a.Action(func(_ *cobra.Command, args []string) error {
			if o.output == "" {
				return app.Usagef("-o FILE says where to write")
			}
			if !(o.common > 0 && o.common <= 1) {
				return app.Usagef("--common is %v; it must be above 0 and at most 1", o.common)
			}
			return buildFingerprints(a, args[0], o)
		}),
	}
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
