package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine/bounded"
)

type fmtOptions struct {
	check, diff, recursive bool
}

// NewFmt returns the command fmt.
func NewFmt(a *app.App) *cobra.Command {
	var o fmtOptions
	cmd := a.Command("fmt [FILE|DIR|-]...", "Format HCL files in the canonical style", app.Takes(0, -1),
		func(_ *cobra.Command, args []string) error { return runFmt(a, o, args) })
	cmd.Flags().BoolVar(&o.check, "check", false, "write nothing; exit with status 1 if a file is not formatted")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "show what changes")
	cmd.Flags().BoolVar(&o.recursive, "recursive", false, "format folders below the given ones too")
	return cmd
}

// formatter formats one file after the other and remembers the outcome.
type formatter struct {
	app     *app.App
	options fmtOptions
	changed int
	diags   hcl.Diagnostics
	files   map[string]*hcl.File
}

func runFmt(a *app.App, o fmtOptions, args []string) error {
	f := &formatter{app: a, options: o, files: map[string]*hcl.File{}}
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		paths, err := hclFiles(arg, o.recursive)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := f.file(path); err != nil {
				return err
			}
		}
	}
	return app.Failing(app.Checked(f.diags, f.files), f.changed > 0 && o.check)
}

// hclFiles lists the HCL files an argument of fmt names, sorted; "-" is standard input.
func hclFiles(arg string, recursive bool) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, app.Usagef("format %s: %w", arg, errors.Unwrap(err))
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	if !recursive {
		return filepath.Glob(filepath.Join(arg, "*.hcl"))
	}
	var paths []string
	err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != arg && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".hcl") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", arg, err)
	}
	slices.Sort(paths)
	return paths, nil
}

func (f *formatter) standardInput() error {
	source, err := io.ReadAll(f.app.Stdin)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	formatted, ok := f.format("<stdin>", source)
	if !ok || f.options.check {
		return nil
	}
	_, err = f.app.Stdout.Write(formatted)
	return err
}

func (f *formatter) file(path string) error {
	if path == "-" {
		return f.standardInput()
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("format %s: %w", path, errors.Unwrap(err))
	}
	formatted, ok := f.format(path, source)
	if !ok || bytes.Equal(source, formatted) {
		return nil
	}
	fmt.Fprintln(f.app.Stdout, path)
	if f.options.diff {
		fmt.Fprintf(f.app.Stdout, "%s", diff.Diff(path, source, path+" (formatted)", formatted))
	}
	if f.options.check {
		return nil
	}
	return app.ReplaceFile(path, formatted)
}

// format returns the canonical form, or false when the text is no HCL; the
// mistakes are kept for the end.
func (f *formatter) format(name string, source []byte) (formatted []byte, ok bool) {
	f.app.Interrupts.Reading(func() {
		parsed, diags := bounded.Parse(source, name)
		f.files[name] = parsed
		f.diags = append(f.diags, diags...)
		if ok = !diags.HasErrors(); ok {
			formatted = hclwrite.Format(source)
		}
	})
	if !ok {
		return nil, false
	}
	if !bytes.Equal(source, formatted) {
		f.changed++
	}
	return formatted, true
}
