package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/history"
)

// NewLogs returns the command logs.
func NewLogs(a *app.App) *cobra.Command {
	var attempt int
	var raw, follow, asTranscript, full bool
	cmd := &cobra.Command{
		Use:   "logs RUN [ADDRESS]",
		Short: "Print what the steps of a run printed",
		Args:  app.Takes(1, 2),
		RunE: a.OnRun(func(cmd *cobra.Command, past *history.Past, args []string) error {
			switch {
			case full && !asTranscript:
				return app.Usagef("--full goes with --transcript")
			case asTranscript && (len(args) == 1 || follow || raw || attempt != 0):
				return app.Usagef("--transcript takes RUN and ADDRESS, and neither -f, --raw nor --attempt")
			case asTranscript:
				return printTranscript(cmd.Context(), a, past, args[1], full)
			case len(args) == 1 && follow:
				return (&logFollower{app: a, past: past, raw: raw}).follow(cmd.Context())
			case len(args) == 1:
				return allLogs(a.Terminal, past, raw)
			}
			address, err := addr.Parse(args[1])
			if err != nil {
				return app.Wrong(err)
			}
			if follow {
				return (&logFollower{app: a, past: past, only: address.String(), attempt: attempt, raw: raw}).follow(cmd.Context())
			}
			return oneLog(a, past, address.String(), attempt, raw)
		}),
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the bytes as they are, control characters included")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow until the step ends")
	cmd.Flags().BoolVar(&asTranscript, "transcript", false, "print an attempt's exchanges with its models")
	cmd.Flags().BoolVar(&full, "full", false, "with --transcript: print long texts whole")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "print attempt `N` (0: the last)")
	return cmd
}

// oneLog prints the log of a step, which another run has if its result was cached. Of a
// block with several instances it prints those of all.
func oneLog(a *app.App, past *history.Past, address string, attempt int, raw bool) error {
	if attempts := past.Logs(address); len(attempts) > 0 {
		return copyLog(a.Terminal, past, address, cmp.Or(attempt, attempts[len(attempts)-1]), raw)
	}
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	s := sum.Step(address)
	switch {
	case s == nil:
		return blockLogs(a, past, sum, address, raw)
	case s.MadeIn == "" || s.MadeIn == past.Info.ID:
		fmt.Fprintf(a.Stderr, "%s printed nothing in run %s.\n", view.OneLine(address), past.Info.ID)
		return nil
	}
	l, err := a.OpenHistory()
	if err != nil {
		return err
	}
	maker, err := l.Find(s.MadeIn)
	if err != nil {
		fmt.Fprintf(a.Stderr, "%s was executed by run %s, which is no longer here, nor is its log.\n", view.OneLine(address), view.OneLine(s.MadeIn))
		return nil
	}
	fmt.Fprintf(a.Stderr, "%s was executed by run %s, whose log this is.\n", view.OneLine(address), maker.Info.ID)
	return oneLog(a, maker, address, attempt, raw)
}

// blockLogs prints the logs of all instances of a block.
func blockLogs(a *app.App, past *history.Past, sum *history.Summary, block string, raw bool) error {
	found := false
	for _, s := range view.InOrder(sum.Steps, view.StepAddress) {
		if !strings.HasPrefix(s.Address, block+"[") {
			continue
		}
		found = true
		fmt.Fprintf(a.Stdout, "==> %s <==\n", view.OneLine(s.Address))
		if err := oneLog(a, past, s.Address, 0, raw); err != nil {
			return err
		}
	}
	if !found {
		return noSuchStep(past, block)
	}
	return nil
}

func noSuchStep(past *history.Past, address string) error {
	return app.Usagef("no step %s in run %s; mleflow show %s -v lists its steps", address, past.Info.ID, past.Info.ID)
}

func allLogs(t *app.Terminal, past *history.Past, raw bool) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	for _, s := range view.InOrder(sum.Steps, view.StepAddress) {
		for _, attempt := range past.Logs(s.Address) {
			fmt.Fprintf(t.Stdout, "==> %s (attempt %d) <==\n", view.OneLine(s.Address), attempt)
			if err := copyLog(t, past, s.Address, attempt, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyLog(t *app.Terminal, past *history.Past, address string, attempt int, raw bool) error {
	r, err := past.OpenLog(address, attempt)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := printLog(t, r, raw); err != nil {
		return fmt.Errorf("print log of %s: %w", address, err)
	}
	return nil
}

// printLog prints a log without what would steer a terminal, wherever it goes:
// a pager or another program may pass it on. As it is it comes with --raw.
func printLog(t *app.Terminal, r io.Reader, raw bool) error {
	if raw {
		_, err := io.Copy(t.Stdout, r)
		return err
	}
	return printClean(t.Stdout, r)
}

// printClean prints a text without control characters.
func printClean(w io.Writer, r io.Reader) error {
	lines := &lineWriter{to: w}
	_, err := io.Copy(lines, r)
	return errors.Join(err, lines.flush())
}

// unfinished is how many bytes at the end of a text are the beginning of a
// character or of an escape sequence that may go on.
func unfinished(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) || tail[0] == '\x1b' {
				return n
			}
			break
		}
	}
	return 0
}
