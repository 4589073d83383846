package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/history"
)

// App is what a command may use: each part by itself, so that what a function
// needs shows in what it takes.
type App struct {
	*Terminal
	*Store
	*Library

	// Started says that the command line was understood and a command's own
	// run function was reached; errors before that are wrong usage.
	Started bool
	// IsWorker says that this is a worker, which runs what others ordered.
	IsWorker bool
	// Fork is the checkpoint from which the attempt of the command begins; "" is none.
	Fork string
}

// NewApp returns an app on the given terminal.
func NewApp(t *Terminal) *App {
	return &App{Terminal: t, Store: &Store{Terminal: t}, Library: &Library{Terminal: t}}
}

// Say tells the person something while a command runs.
func (t *Terminal) Say(text string) {
	t.screenMu.Lock()
	defer t.screenMu.Unlock()
	if t.screen != nil {
		t.screen.Say(text)
		return
	}
	fmt.Fprintln(t.Stderr, "\n"+text)
}

// leave gives the terminal back before the process ends without returning.
func (t *Terminal) leave() {
	t.screenMu.Lock()
	defer t.screenMu.Unlock()
	if t.screen != nil {
		t.screen.Abandon()
	}
}

// setScreen notes which view owns the terminal; nil is none.
func (t *Terminal) setScreen(l *view.Live) {
	t.screenMu.Lock()
	defer t.screenMu.Unlock()
	t.screen = l
}

// Report tells the person what went wrong, unless that was done.
func (a *App) Report(err error) {
	var diags *DiagError
	switch {
	case err == nil, errors.Is(err, ErrSilent):
	case errors.As(err, &diags):
		a.ShowDiagnostics(diags.List, diags.files)
	default:
		fmt.Fprintf(a.Stderr, "%s %s\n", a.ErrStyle().Bad("Error:"), view.Text(err.Error()))
		if bug := (*crash.Error)(nil); a.Verbose && errors.As(err, &bug) {
			fmt.Fprint(a.Stderr, bug.Stack)
		}
		if !a.Started {
			fmt.Fprintln(a.Stderr, "Run mleflow help for the commands and flags.")
		}
	}
}

// CacheFolder returns the folder of the cache: the flag, the environment
// variable, or below the user's cache directory. Links to it are followed, but none
// in it.
func (s *Store) CacheFolder() (string, error) {
	if dir := cmp.Or(s.CacheDir, s.Env("MLEFLOW_CACHE_DIR")); dir != "" {
		return nolink.Folder(dir), nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", Usagef("find the cache folder: %w; set --cache-dir or MLEFLOW_CACHE_DIR", err)
	}
	return nolink.Folder(filepath.Join(base, "mleflow")), nil
}

// Env returns an environment variable, "" when it is not set.
func (t *Terminal) Env(name string) string {
	for i := len(t.Environ) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(t.Environ[i], "="); ok && key == name {
			return value
		}
	}
	return ""
}

// EnvTime returns the time in an environment variable, at least the given one, or otherwise
// if it is not set.
func (t *Terminal) EnvTime(name, example string, least, otherwise time.Duration) (time.Duration, error) {
	text := t.Env(name)
	if text == "" {
		return otherwise, nil
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit < least {
		return 0, Usagef("%s: %q is not a time such as %s", name, text, example)
	}
	return limit, nil
}

// OutStyle is the style of standard output.
func (t *Terminal) OutStyle() view.Style { return view.StyleFor(t.Stdout, t.plainText()) }

// ErrStyle is the style of standard error.
func (t *Terminal) ErrStyle() view.Style { return view.StyleFor(t.Stderr, t.plainText()) }

func (t *Terminal) plainText() bool {
	return t.NoColor || t.Env("NO_COLOR") != "" || t.Env("TERM") == "dumb"
}

// Action adapts a run function to cobra and notes that usage was right.
func (a *App) Action(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.Started = true
		return run(cmd, args)
	}
}

// OnRun is Action for a command about the run that its first argument names, or the
// latest.
func (a *App) OnRun(run func(cmd *cobra.Command, past *history.Past, args []string) error) func(*cobra.Command, []string) error {
	return a.Action(func(cmd *cobra.Command, args []string) error {
		past, err := a.FindRun(args)
		if err != nil {
			return err
		}
		return run(cmd, past, args)
	})
}
