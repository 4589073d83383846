package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// app is what a command may use: each part by itself, so that what a function
// needs shows in what it takes.
type app struct {
	*terminal
	*store
	*library

	// started says that the command line was understood and a command's own
	// run function was reached; errors before that are wrong usage.
	started bool
	// isWorker says that this is a worker, which runs what others ordered.
	isWorker bool
}

// newApp returns an app on the given terminal.
func newApp(t *terminal) *app {
	return &app{terminal: t, store: &store{terminal: t}, library: &library{terminal: t}}
}

// say tells the person something while a command runs.
func (t *terminal) say(text string) {
	t.screenMu.Lock()
	defer t.screenMu.Unlock()
	if t.screen != nil {
		t.screen.Say(text)
		return
	}
	fmt.Fprintln(t.stderr, "\n"+text)
}

// leave gives the terminal back before the process ends without returning.
func (t *terminal) leave() {
	t.screenMu.Lock()
	defer t.screenMu.Unlock()
	if t.screen != nil {
		t.screen.Abandon()
	}
}

// setScreen notes which view owns the terminal; nil is none.
func (t *terminal) setScreen(l *view.Live) {
	t.screenMu.Lock()
	defer t.screenMu.Unlock()
	t.screen = l
}

// Main runs the command line and returns the exit status.
func Main(args []string) int {
	if len(args) > 0 && hidden[args[0]] != nil {
		garbage.Usual() // it may run for long, and limit its memory itself
		return hidden[args[0]](args[1:])
	}
	a := newApp(&terminal{stdin: os.Stdin, stdout: view.NewOutput(os.Stdout), stderr: os.Stderr, environ: os.Environ()})
	if dir := machine.TempDir(os.TempDir()); dir != "" && dir != os.TempDir() {
		_ = os.Setenv("TMPDIR", dir) // doctor says so
	}
	ctx, end := interruptible(context.Background(), a.terminal)
	defer end()
	return a.main(ctx, args)
}

func (a *app) main(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(normalise(root, args))
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = usageError{err}
	}
	if out, ok := a.stdout.(*view.Output); ok && err == nil && out.Err() != nil {
		err = fmt.Errorf("write standard output: %w", out.Err())
	}
	var own statusError
	if err == nil || ctx.Err() == nil || errors.As(err, &own) {
		a.report(err)
		return exitStatus(err)
	}
	if !errors.Is(err, context.Canceled) {
		a.report(err)
	}
	return exitStatus(fmt.Errorf("%w: %w", context.Cause(ctx), context.Canceled))
}

// report tells the person what went wrong, unless that was done.
func (a *app) report(err error) {
	var diags *diagError
	switch {
	case err == nil, errors.Is(err, errSilent):
	case errors.As(err, &diags):
		a.showDiagnostics(diags.list, diags.files)
	default:
		fmt.Fprintf(a.stderr, "%s %s\n", a.errStyle().Bad("Error:"), view.Text(err.Error()))
		if !a.started {
			fmt.Fprintln(a.stderr, "Run mleflow help for the commands and flags.")
		}
	}
}

// cacheFolder returns the folder of the cache: the flag, the environment
// variable, or below the user's cache directory. Links to it are followed, but none
// in it.
func (s *store) cacheFolder() (string, error) {
	if dir := cmp.Or(s.cacheDir, s.env("MLEFLOW_CACHE_DIR")); dir != "" {
		return nolink.Folder(dir), nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", usagef("find the cache folder: %w; set --cache-dir or MLEFLOW_CACHE_DIR", err)
	}
	return nolink.Folder(filepath.Join(base, "mleflow")), nil
}

// env returns an environment variable, "" when it is not set.
func (t *terminal) env(name string) string {
	for i := len(t.environ) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(t.environ[i], "="); ok && key == name {
			return value
		}
	}
	return ""
}

func (t *terminal) outStyle() view.Style { return view.StyleFor(t.stdout, t.plainText()) }
func (t *terminal) errStyle() view.Style { return view.StyleFor(t.stderr, t.plainText()) }

func (t *terminal) plainText() bool {
	return t.noColor || t.env("NO_COLOR") != "" || t.env("TERM") == "dumb"
}

// action adapts a run function to cobra and notes that usage was right.
func (a *app) action(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return run(cmd, args)
	}
}
