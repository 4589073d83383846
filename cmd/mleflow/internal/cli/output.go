package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plain"
)

func newOutput(a *app) *cobra.Command {
	var run string
	var raw bool
	cmd := &cobra.Command{
		Use:   "output [NAME]",
		Short: "Print the outputs of a run's pipeline",
		Long:  "Print a run's outputs, or one: for content, the command that writes it to a\nfolder. --json prints JSON, of all an object of {\"value\": …}.",
		Example: `  mleflow output
  mleflow output leaderboard
  mleflow output --json | jq '.leaderboard.value'`,
		Args: takes(0, 1),
		RunE: a.action(func(_ *cobra.Command, args []string) error {
			if raw && (a.json || len(args) == 0) {
				return usagef("--raw prints one output as it is; name the output, and leave out --json")
			}
			past, err := a.findRun([]string{run})
			if err != nil {
				return err
			}
			sum, err := past.Summary()
			if err != nil {
				return err
			}
			if attempts := attemptsOf(sum); !a.json {
				view.NotIsolated(a.stderr, attempts.NotIsolated("were not isolated"), a.errStyle())
			}
			if len(args) == 0 {
				return showOutputs(a.terminal, sum.ID, sum.Outputs)
			}
			o, err := findOutput(sum.ID, sum.Outputs, args[0])
			if err != nil {
				return err
			}
			return showOutput(a.terminal, sum.ID, o, raw)
		}),
	}
	cmd.Flags().StringVar(&run, "run", "latest", "the `RUN`: an id, the beginning of one, or latest")
	cmd.Flags().BoolVar(&raw, "raw", false, "print a string as it is, without a line end")
	return cmd
}

func findOutput(run string, outputs []event.OutputValue, name string) (event.OutputValue, error) {
	var names []string
	for _, o := range outputs {
		if o.Name == name {
			return o, nil
		}
		names = append(names, o.Name)
	}
	if len(names) == 0 {
		return event.OutputValue{}, usagef("run %s has no outputs", run)
	}
	return event.OutputValue{}, usagef("run %s has no output %q; it has %s.%s", run, name, strings.Join(names, ", "), diag.DidYouMean(name, names))
}

func showOutputs(t *terminal, run string, outputs []event.OutputValue) error {
	if !t.json {
		if len(outputs) == 0 {
			fmt.Fprintf(t.stderr, "Run %s has no outputs.\n", run)
		}
		var text bytes.Buffer
		view.Outputs(&text, run, outputs, t.outStyle())
		_, err := t.stdout.Write(bytes.TrimLeft(text.Bytes(), "\n"))
		return err
	}
	type value struct {
		Value   json.RawMessage `json:"value"`
		Content *event.Content  `json:"content,omitempty"`
	}
	all := make(map[string]value, len(outputs))
	for _, o := range outputs {
		all[o.Name] = value{o.JSON(), o.Content}
	}
	return writeJSON(t.stdout, all)
}

func showOutput(t *terminal, run string, o event.OutputValue, raw bool) error {
	switch {
	case t.json:
		return writeJSON(t.stdout, o.JSON())
	case o.Content != nil && o.Content.From != "":
		fmt.Fprintf(t.stdout, "%s\n%s\n", view.ContentText(*o.Content), view.GetCommand(run, *o.Content))
		return nil
	case raw:
		_, err := io.WriteString(t.stdout, o.Value)
		return err
	}
	_, err := fmt.Fprintln(t.stdout, strings.TrimSuffix(plain.Fold(view.Text(o.Value), 2, view.Width(t.stdout)), "\n"))
	return err
}
