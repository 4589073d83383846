package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/ledger"
)

func newLogs(a *app) *cobra.Command {
	var attempt int
	cmd := &cobra.Command{
		Use:   "logs RUN [ADDRESS]",
		Short: "Print what the steps of a run printed",
		Long:  "Print the log of a step, or of all steps that printed something. RUN is an id, the\nbeginning of one, or \"latest\". Of several attempts the last is shown.",
		Args:  takes(1, 2),
		RunE: a.action(func(_ *cobra.Command, args []string) error {
			past, err := a.findRun(args)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return a.allLogs(past)
			}
			address, err := addr.Parse(args[1])
			if err != nil {
				return usageError{err}
			}
			return a.oneLog(past, address.String(), attempt)
		}),
	}
	cmd.Flags().IntVar(&attempt, "attempt", 0, "print attempt `N` (0: the last)")
	return cmd
}

func (a *app) oneLog(past *ledger.Past, address string, attempt int) error {
	attempts := past.Logs(address)
	if len(attempts) == 0 {
		sum, err := past.Summary()
		if err != nil {
			return err
		}
		if sum.Step(address) == nil {
			return usagef("no step %s in run %s; mleflow show %s -v lists its steps", address, past.Info.ID, past.Info.ID)
		}
		fmt.Fprintf(a.stderr, "%s printed nothing in run %s.\n", address, past.Info.ID)
		return nil
	}
	if attempt == 0 {
		attempt = attempts[len(attempts)-1]
	}
	return a.copyLog(past, address, attempt)
}

func (a *app) allLogs(past *ledger.Past) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	for _, s := range sum.Steps {
		for _, attempt := range past.Logs(s.Address) {
			fmt.Fprintf(a.stdout, "==> %s (attempt %d) <==\n", s.Address, attempt)
			if err := a.copyLog(past, s.Address, attempt); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) copyLog(past *ledger.Past, address string, attempt int) error {
	r, err := past.OpenLog(address, attempt)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := a.printLog(r); err != nil {
		return fmt.Errorf("print log of %s: %w", address, err)
	}
	return nil
}

// printLog prints a log as it is, but for a terminal without what would steer
// it.
func (a *app) printLog(r io.Reader) error {
	if f, ok := a.stdout.(*os.File); !ok || !view.IsTerminal(f) {
		_, err := io.Copy(a.stdout, r)
		return err
	}
	return printClean(a.stdout, r)
}

// printClean prints a text without control characters, line by line; a line
// that does not end goes in pieces.
func printClean(w io.Writer, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := in.ReadSlice('\n')
		if _, failed := io.WriteString(w, view.Text(string(line))); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
