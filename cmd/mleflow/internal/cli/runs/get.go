package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

type getOptions struct {
	what      []string // the output, unless all are copied
	dir       string
	all, link bool
}

// NewGet returns the command get.
func NewGet(a *app.App) *cobra.Command {
	var o getOptions
	cmd := a.KeyCommand("get RUN [KEY[.OUTPUT]] -o DIR", "Copy results of a run out of the cache", app.Takes(1, 2),
		func(cmd *cobra.Command, past *history.Past, args []string) error {
			switch {
			case o.dir == "":
				return app.Usagef("-o DIR says where to write")
			case o.all == (len(args) == 2):
				return app.Usagef("name one step of the run, or take the whole run with --all")
			}
			o.what = args[1:]
			return a.WithResults(past, func(c app.ResultCache) error {
				err := copyResults(cmd.Context(), a, c, past, o)
				if errors.Is(err, outputs.ErrNone) {
					return app.Wrong(err)
				}
				return err
			})
		})
	cmd.Flags().StringVarP(&o.dir, "output", "o", "", "write to `DIR`")
	cmd.Flags().BoolVar(&o.all, "all", false, "write all attempts and boards of the run")
	cmd.Flags().BoolVar(&o.link, "link", false, "make read-only hard links into the cache, without space, not copies")
	return cmd
}

func copyResults(ctx context.Context, a *app.App, c app.ResultCache, past *history.Past, o getOptions) error {
	t := a.Terminal
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	src := &outputs.Source{Store: c, Index: c, Run: sum}
	work, stop := t.MeterWork("get")
	defer stop()
	opts := outputs.Options{Link: o.link, Work: work}
	if o.all {
		p, err := past.Plan()
		if err != nil {
			return err
		}
		done, err := src.All(ctx, p, o.dir, opts)
		stop()
		if err != nil {
			return err
		}
		return showGot(t, done, o.dir)
	}
	address, output, err := splitOutput(past, sum, o.what[0])
	if err != nil {
		return err
	}
	parts, err := a.Concretes()
	if err != nil {
		return err
	}
	src.Kinds = parts.Kinds
	paths, err := src.Get(ctx, address, output, o.dir, opts)
	stop()
	if err != nil {
		return err
	}
	return t.Show(map[string]any{"paths": paths}, func() {
		for _, path := range paths {
			fmt.Fprintln(t.Stdout, path)
		}
	})
}

// splitOutput takes KEY or KEY.OUTPUT apart, and returns the address of the step. The run
// decides: an output reads like a step in a module.
func splitOutput(past *history.Past, sum *history.Summary, text string) (address, output string, err error) {
	if address, err = app.AddressIn(past, text); err == nil && sum.Step(address) != nil {
		return address, "", nil
	}
	cut := max(0, strings.LastIndexByte(text, '.'))
	if of, short := app.AddressIn(past, text[:cut]); short == nil && (err != nil || sum.Step(of) != nil) {
		return of, text[cut+1:], nil
	}
	return address, "", err
}

func showGot(t *app.Terminal, done *outputs.Written, dir string) error {
	return t.Show(done, func() {
		fmt.Fprintf(t.Stdout, "Wrote %s, %s and %s to %s.\n", view.Plural(done.Attempts, "attempt"), view.Plural(done.Reports, "report"),
			view.Plural(done.Boards, "board"), dir)
		for _, address := range done.Missing {
			fmt.Fprintf(t.Stderr, "%s has no result in the cache.\n", view.OneLine(address))
		}
	})
}

// NewOutput returns the command output.
func NewOutput(a *app.App) *cobra.Command {
	var run string
	var raw bool
	cmd := a.Command("output [NAME]", "Print the outputs of a run's pipeline", app.Takes(0, 1),
		func(_ *cobra.Command, args []string) error {
			if raw && (a.JSON || len(args) == 0) {
				return app.Usagef("--raw prints one output as it is; name the output, and leave out --json")
			}
			sum, err := a.Summary([]string{run})
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
		})
	cmd.Flags().StringVar(&run, "run", "latest", "the `RUN`: an id, the beginning of one, or latest")
	cmd.Flags().BoolVar(&raw, "raw", false, "print a string as it is, without a line end")
	return cmd
}

func findOutput(run string, outputs []event.OutputValue, name string) (event.OutputValue, error) {
	names := lists.Of(outputs, func(o event.OutputValue) string { return o.Name })
	if i := slices.Index(names, name); i >= 0 {
		return outputs[i], nil
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
		var text strings.Builder
		view.Outputs(&text, run, outputs, t.OutStyle())
		fmt.Fprint(t.Stdout, strings.TrimLeft(text.String(), "\n"))
		return nil
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
	case raw:
		fmt.Fprint(t.Stdout, o.Value)
	default:
		fmt.Fprintln(t.Stdout, strings.TrimSuffix(plain.Fold(view.Text(o.Value), 2, view.Width(t.Stdout)), "\n"))
	}
	return nil
}
