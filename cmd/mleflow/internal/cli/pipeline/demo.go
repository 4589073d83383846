package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/engine"
)

// NewDemo returns the command demo.
func NewDemo(a *app.App) *cobra.Command {
	var o applyOptions
	var out string
	var open bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the demonstration and write its page, demo.html",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(cmd *cobra.Command, _ []string) error {
			if err := mayWrite(out); err != nil {
				return err
			}
			err := a.WithProgram(cmd.Context(), []string{"demo.hcl"}, o.in, nil, func(b *app.Backend, p *engine.Program) error {
				return runApply(cmd.Context(), a, o, b, p)
			})
			if err != nil {
				return err
			}
			if err := runs.WriteReport(cmd.Context(), a, nil, out); err != nil || !open {
				return err
			}
			return openPage(a, out)
		}),
	}
	o.in.Register(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "demo.html", "write the page to `FILE`")
	cmd.Flags().BoolVar(&open, "open", false, "open the page in a browser")
	return cmd
}

// mayWrite refuses a file whose folder cannot be written, before anything runs.
func mayWrite(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".mleflow-*")
	if err != nil {
		if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return app.Usagef("the page cannot be written to %s: %w; go to a folder of yours, or name a file with -o", path, err)
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// openPage shows a page in the browser of the desktop, or says where it is.
func openPage(a *app.App, path string) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if a.Env("DISPLAY") == "" && a.Env("WAYLAND_DISPLAY") == "" {
		opener = ""
	}
	if opener == "" || exec.Command(opener, whole).Start() != nil {
		fmt.Fprintf(a.Stderr, "There is no browser to open it here; the page is %s\n", whole)
	}
	return nil
}
