package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
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
	// Args is the command line, with the program first.
	Args []string
	// Log is the file that takes the output of a process that apply --detach started; ""
	// is none.
	Log string
	// Submitted is the submission whose process this is, nil without one.
	Submitted *submitted.Entered
	// Through is the protocol by which a program calls the command, such as "mcp".
	Through string
	// Fork is the checkpoint from which the attempt of the command begins; "" is none.
	Fork string
	// Thief is what this program looks for in place of agents; nil runs agents.
	Thief *breach.Targets
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

// Note tells the person, under a title, what of the results is otherwise than it looks.
func (t *Terminal) Note(title, format string, args ...any) {
	fmt.Fprintf(t.Stderr, "%s %s\n", t.ErrStyle().Warn(title), view.Text(fmt.Sprintf(format, args...)))
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

// Flags are flags that several commands have, or that belong together.
type Flags interface{ Register(cmd *cobra.Command) }

// Command returns a command that does run, with flags.
func (a *App) Command(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string) error, flags ...Flags) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: a.Action(run)}
	for _, f := range flags {
		f.Register(cmd)
	}
	return cmd
}

// RunCommand returns a command about the run that its first argument names, or the latest.
func (a *App) RunCommand(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, past *history.Past, args []string) error, flags ...Flags) *cobra.Command {
	return a.runCommand(use, short, args, slices.Clone, run, flags)
}

// runCommand is RunCommand with the arguments that full makes of those that are given.
func (a *App) runCommand(use, short string, args cobra.PositionalArgs, full func([]string) []string, run func(*cobra.Command, *history.Past, []string) error, flags []Flags) *cobra.Command {
	takes := func(cmd *cobra.Command, given []string) error { return args(cmd, full(given)) }
	return a.Command(use, short, takes, func(cmd *cobra.Command, given []string) error {
		past, err := a.FindRun(full(given))
		if err != nil {
			return err
		}
		return run(cmd, past, full(given))
	}, flags...)
}

// KeyCommand is a RunCommand whose second argument is the KEY of a step or attempt. Without a
// run before it, the KEY is of the latest run.
func (a *App) KeyCommand(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, past *history.Past, args []string) error, flags ...Flags) *cobra.Command {
	return a.runCommand(use, short, args, func(args []string) []string {
		if len(args) > 0 && (strings.Contains(args[0], "/") || strings.HasPrefix(args[0], "step.") && strings.Count(args[0], ".") > 1) {
			return append([]string{"latest"}, args...)
		}
		return args
	}, run, flags)
}

// Terminal is where a command reads and writes, and how: the process's streams
// and environment, and the flags for output.
type Terminal struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string

	JSON, NoColor, Verbose bool

	Interrupts interrupts

	// screen is the live view while one owns the terminal.
	screenMu sync.Mutex
	screen   *view.Live
}

// Show writes the result of a command: as JSON, or with text for people.
func (t *Terminal) Show(result any, text func()) error {
	if t.JSON {
		return WriteJSON(t.Stdout, result)
	}
	text()
	return nil
}

// Table writes a table for people. Standard output remembers what could not be written.
func (t *Terminal) Table(table *view.Table) { table.Write(t.Stdout, t.OutStyle()) }

// IsFolder reports whether there is a folder at a path.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Store is where results are kept: the cache, the record of runs, the remote
// cache behind them and the network that data are fetched from.
type Store struct {
	*Terminal

	CacheDir string
	// RemoteCache is the address of the remote cache, or empty.
	RemoteCache string
	// Network are the flags of commands that fetch data.
	Network networkFlags
}

// WithCache opens the cache for one command.
func (s *Store) WithCache(run func(*disk.Cache) error) error { return with(s.OpenCache, run) }

// with opens something, runs a function on it, and closes it.
func with[T io.Closer](open func() (T, error), run func(T) error) (err error) {
	opened, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	return run(opened)
}

// Library is the competitions that a command knows.
type Library struct {
	*Terminal

	// CompetitionDirs are folders of competitions that the command line names,
	// named those that the pipeline does.
	CompetitionDirs []string
	Named           []competitions.Folder
	// folder is that of the pipeline, "" if there is none.
	folder string
}

// OwnCompetitions is the folder in which competition new writes.
const OwnCompetitions = "competitions"

// ReplaceFile writes a file, all or nothing, keeping the mode of an old one.
func ReplaceFile(path string, data []byte) error {
	if err := wholefile.Replace(path, wholefile.Bytes(data)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
