package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/history"
)

type getOptions struct {
	what []string // the output, unless all are copied
	dir  string
	all  bool
	link bool
}

// NewGet returns the command get.
func NewGet(a *app.App) *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:   "get RUN [ADDRESS[.OUTPUT]] -o DIR",
		Short: "Copy results of a run out of the cache",
		Args:  app.Takes(1, 2),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			switch {
			case o.dir == "":
				return app.Usagef("-o DIR says where to write")
			case o.all == (len(args) == 2):
				return app.Usagef("name one step of the run, or take the whole run with --all")
			}
			o.what = args[1:]
			past, err := a.FindRun(args)
			if err != nil {
				return err
			}
			return a.WithResults(past, func(c app.ResultCache) error {
				err := copyResults(cmd.Context(), a, c, past, o)
				if errors.Is(err, outputs.ErrNone) {
					return app.Wrong(err)
				}
				return err
			})
		}),
	}
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
	address, output, err := splitOutput(o.what[0])
	if err != nil {
		return app.Wrong(err)
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
	if t.JSON {
		return app.WriteJSON(t.Stdout, map[string]any{"paths": paths})
	}
	for _, path := range paths {
		fmt.Fprintln(t.Stdout, path)
	}
	return nil
}

// splitOutput takes ADDRESS or ADDRESS.OUTPUT apart.
func splitOutput(text string) (address, output string, err error) {
	whole, err := addr.Parse(text)
	if err == nil {
		return whole.String(), "", nil
	}
	cut := strings.LastIndexByte(text, '.')
	if cut < 0 {
		return "", "", err
	}
	parsed, short := addr.Parse(text[:cut])
	if short != nil {
		return "", "", err
	}
	return parsed.String(), text[cut+1:], nil
}

func showGot(t *app.Terminal, done *outputs.Written, dir string) error {
	if t.JSON {
		return app.WriteJSON(t.Stdout, done)
	}
	fmt.Fprintf(t.Stdout, "Wrote %s, %s and %s to %s.\n", view.Plural(done.Attempts, "attempt"), view.Plural(done.Reports, "report"),
		view.Plural(done.Boards, "board"), dir)
	for _, address := range done.Missing {
		fmt.Fprintf(t.Stderr, "%s has no result in the cache.\n", view.OneLine(address))
	}
	return nil
}
