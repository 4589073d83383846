package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/competitions/kit"
)

func newCompetitionNew(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "new ID",
		Short: "Write a working skeleton of a competition",
		Long:  "Write the folder DIR/ID with a competition.hcl that loads, prepares and grades as it\nstands, and a small made-up data set to be replaced.",
		Args:  takes(1, 1),
		RunE: a.action(func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return fmt.Errorf("make folder: %w", err)
			}
			err := kit.New(dir, args[0])
			if errors.Is(err, fs.ErrExist) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			path := filepath.Join(dir, args[0], "competition.hcl")
			if a.json {
				return writeJSON(a.stdout, map[string]string{"path": path})
			}
			fmt.Fprintf(a.stdout, "Wrote %s. Next:\n\n  mleflow competition lint %s --dir %s\n  mleflow competition test %s --dir %s\n", path, args[0], dir, args[0], dir)
			return nil
		}),
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "write below `DIR`")
	return cmd
}
