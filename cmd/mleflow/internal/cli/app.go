package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
)

// app is what all commands share: the process's streams and the global flags.
type app struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string

	cacheDir string
	// remoteCache is the address of the remote cache, or empty.
	remoteCache string

	json    bool
	noColor bool
	verbose bool
	// competitionDirs are folders of competitions that the command line names,
	// named those that the pipeline does.
	competitionDirs []string
	named           []competitions.Folder
	// network are the flags of commands that fetch data.
	network networkFlags

	// started says that the command line was understood and a command's own
	// run function was reached; errors before that are wrong usage.
	started bool

	// screen is the live view while one owns the terminal.
	screenMu sync.Mutex
	screen   *view.Live
}

// say tells the person something while a command runs.
func (a *app) say(text string) {
	a.screenMu.Lock()
	defer a.screenMu.Unlock()
	if a.screen != nil {
		a.screen.Say(text)
		return
	}
	fmt.Fprintln(a.stderr, "\n"+text)
}

// leave gives the terminal back before the process ends without returning.
func (a *app) leave() {
	a.screenMu.Lock()
	defer a.screenMu.Unlock()
	if a.screen != nil {
		a.screen.Abandon()
	}
}

// setScreen notes which view owns the terminal; nil is none.
func (a *app) setScreen(l *view.Live) {
	a.screenMu.Lock()
	defer a.screenMu.Unlock()
	a.screen = l
}

// Main runs the command line and returns the exit status.
func Main(args []string) int {
	if len(args) > 0 && hidden[args[0]] != nil {
		return hidden[args[0]](args[1:])
	}
	a := &app{stdin: os.Stdin, stdout: view.NewOutput(os.Stdout), stderr: os.Stderr, environ: os.Environ()}
	ctx, stop := interruptible(context.Background(), a.say, a.leave)
	defer stop()
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
	if err == nil || ctx.Err() == nil {
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
// variable, or below the user's cache directory.
func (a *app) cacheFolder() (string, error) {
	if a.cacheDir != "" {
		return filepath.Abs(a.cacheDir)
	}
	if dir := a.env("MLEFLOW_CACHE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", usagef("find the cache folder: %w; set --cache-dir or MLEFLOW_CACHE_DIR", err)
	}
	return filepath.Join(base, "mleflow"), nil
}

// env returns an environment variable, "" when it is not set.
func (a *app) env(name string) string {
	for i := len(a.environ) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(a.environ[i], "="); ok && key == name {
			return value
		}
	}
	return ""
}

func (a *app) outStyle() view.Style { return view.StyleFor(a.stdout, a.plainText()) }
func (a *app) errStyle() view.Style { return view.StyleFor(a.stderr, a.plainText()) }

func (a *app) plainText() bool {
	return a.noColor || a.env("NO_COLOR") != "" || a.env("TERM") == "dumb"
}

// action adapts a run function to cobra and notes that usage was right.
func (a *app) action(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return run(cmd, args)
	}
}
