package competition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/mask"
)

// NewMask returns the command mask.
func NewMask(a *app.App) *cobra.Command {
	return app.Group(a, "mask", "Measure contamination: give the rows of a competition other ids", newMaskSalt(a), newMaskData(a), newMaskSubmission(a))
}

// SaltCommitment is what mask salt says.
type SaltCommitment struct {
	File   string `json:"file"`
	Digest string `json:"sha256"`
}

func newMaskSalt(a *app.App) *cobra.Command {
	return a.Command("salt FILE", "Draw a salt, or print the commitment to one", app.Takes(1, 1),
		func(_ *cobra.Command, args []string) error {
			err := wholefile.Create(args[0], 0o600, mask.WriteSalt)
			if err != nil && !errors.Is(err, os.ErrExist) {
				return fmt.Errorf("write salt: %w", err)
			}
			_, data, err := readSalt(args[0])
			if err != nil {
				return err
			}
			out := SaltCommitment{args[0], digest.Of(data).String()}
			return a.Show(out, func() { fmt.Fprintf(a.Stdout, "%s  %s\n", out.Digest, out.File) })
		})
}

// readSalt returns the salt in a file, and the file.
func readSalt(path string) (mask.Salt, []byte, error) {
	if path == "" {
		return nil, nil, app.Usagef("--salt FILE is missing; mleflow mask salt FILE makes one")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read salt: %w", err)
	}
	salt, err := mask.ParseSalt(data)
	if err != nil {
		return nil, nil, app.Wrong(fmt.Errorf("%s: %w", path, err))
	}
	return salt, data, nil
}

type maskDataOptions struct {
	data         app.DataFlags
	salt, output string
}

// MaskedData is what mask data says.
type MaskedData struct {
	Competition string `json:"competition"`
	Version     string `json:"version"`
	Path        string `json:"path"`
}

func newMaskData(a *app.App) *cobra.Command {
	var o maskDataOptions
	cmd := a.Command("data ID --salt FILE -o DIR", "Write the masked version of a prepared competition", app.Takes(1, 1),
		func(cmd *cobra.Command, args []string) error { return maskData(cmd.Context(), a, args[0], o) })
	cmd.Flags().StringVar(&o.data.Dir, "data-dir", "", "`DIR` with the competitions' data (default: data below the cache folder)")
	cmd.Flags().StringVar(&o.salt, "salt", "", "salt, from `FILE`")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "data directory to write to, `DIR`")
	return cmd
}

func maskData(ctx context.Context, a *app.App, id string, o maskDataOptions) error {
	app.SpareMemory()
	def, salt, errDef := maskable(a, id, o.salt)
	from, err := o.data.Layout(a)
	if err := cmp.Or(errDef, err); err != nil {
		return err
	}
	if o.output == "" {
		return app.Usagef("-o DIR says where to write")
	}
	to := dataset.Layout{Dir: o.output}
	own, _ := filepath.Abs(from.Dir)
	if other, err := filepath.Abs(to.Dir); err == nil && own == other {
		return app.Usagef("-o %s is the folder of the data itself; name another", o.output)
	}
	if _, err := os.Stat(from.Prepared(id)); err != nil {
		return fmt.Errorf("%w; prepare the competition first", err)
	}
	if competitions.IsRehearsal(from.Competition(id)) {
		def = def.Rehearsed()
	}
	if err := def.Mark(to.Competition(id)); err != nil {
		return err
	}
	work, stop := a.MeterWork("mask")
	folder := mask.Folder{From: from.Prepared(id), To: to.Prepared(id), Work: work}
	err = folder.Write("mask", func(o mask.Options) error {
		o.Salt = salt
		return mask.Run(ctx, def, o)
	})
	stop()
	if err != nil {
		return err
	}
	return a.Show(MaskedData{id, def.Version, to.Prepared(id)}, func() {
		fmt.Fprintf(a.Stdout, "%s: %s (%s)\n", id, to.Prepared(id), def.Version)
	})
}

// maskable returns the masked version of a competition, and the salt.
func maskable(a *app.App, id, saltFile string) (*competitions.Definition, mask.Salt, error) {
	def, err := a.Definition(id)
	if err != nil {
		return nil, nil, err
	}
	if def, err = def.At("v1m"); err != nil {
		return nil, nil, app.Wrong(err)
	}
	salt, _, err := readSalt(saltFile)
	return def, salt, err
}

func newMaskSubmission(a *app.App) *cobra.Command {
	var salt, output string
	cmd := a.Command("submission SUBMISSION.csv ID --salt FILE -o FILE",
		"Write a submission with the ids of the masked version", app.Takes(2, 2),
		func(_ *cobra.Command, args []string) error {
			def, salt, err := maskable(a, args[1], salt)
			if err != nil {
				return err
			}
			if output == "" {
				return app.Usagef("-o FILE says where to write")
			}
			in, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("read submission: %w", err)
			}
			defer in.Close()
			return wholefile.Create(output, 0o666, func(w io.Writer) error { return mask.Table(def, salt, in, w) })
		})
	cmd.Flags().StringVar(&salt, "salt", "", "salt, from `FILE`")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return cmd
}
