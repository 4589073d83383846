package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
)

// NewOutput returns the command output.
func NewOutput(a *app.App) *cobra.Command {
	var run string
	var raw bool
	cmd := &cobra.Command{
		Use:   "output [NAME]",
		Short: "Print the outputs of a run's pipeline",
		Args:  app.Takes(0, 1),
		RunE: a.Action(func(_ *cobra.Command, args []string) error {
			if raw && (a.JSON || len(args) == 0) {
				return app.Usagef("--raw prints one output as it is; name the output, and leave out --json")
			}
			past, err := a.FindRun([]string{run})
			if err != nil {
				return err
			}
			sum, err := past.Summary()
			if err != nil {
				return err
			}
			if attempts := app.AttemptsOf(sum); !a.JSON {
				view.NotIsolated(a.Stderr, attempts.NotIsolated("were not isolated"), a.ErrStyle())
			}
			if len(args) == 0 {
				return showOutputs(a.Terminal, sum.ID, sum.Outputs)
			}
			o, err := findOutput(sum.ID, sum.Outputs, args[0])
			if err != nil {
				return err
			}
			return showOutput(a.Terminal, sum.ID, o, raw)
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
		return event.OutputValue{}, app.Usagef("run %s has no outputs", run)
	}
	return event.OutputValue{}, app.Usagef("run %s has no output %q; it has %s.%s", run, name, strings.Join(names, ", "), diag.DidYouMean(name, names))
}

func showOutputs(t *app.Terminal, run string, outputs []event.OutputValue) error {
	if !t.JSON {
		if len(outputs) == 0 {
			fmt.Fprintf(t.Stderr, "Run %s has no outputs.\n", run)
		}
		var text bytes.Buffer
		view.Outputs(&text, run, outputs, t.OutStyle())
		_, err := t.Stdout.Write(bytes.TrimLeft(text.Bytes(), "\n"))
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
	return app.WriteJSON(t.Stdout, all)
}

func showOutput(t *app.Terminal, run string, o event.OutputValue, raw bool) error {
	switch {
	case t.JSON:
		return app.WriteJSON(t.Stdout, o.JSON())
	case o.Content != nil && o.Content.From != "":
		fmt.Fprintf(t.Stdout, "%s\n%s\n", view.ContentText(*o.Content), view.GetCommand(run, *o.Content))
		return nil
	case raw:
		_, err := io.WriteString(t.Stdout, o.Value)
		return err
	}
	_, err := fmt.Fprintln(t.Stdout, strings.TrimSuffix(plain.Fold(view.Text(o.Value), 2, view.Width(t.Stdout)), "\n"))
	return err
}
