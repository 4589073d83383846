package leaderboard

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/boards"
	"github.com/mleflow/mleflow/competitions/export"
)

// showOptions say how a leaderboard is written.
type showOptions struct {
	format, table, output string
	name                  string
	labels                boards.Labels
	// full shows every figure and, of comparisons, every test.
	full bool
}

func (o *showOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.format, "format", "text", "`FORMAT`: text, markdown, json, csv, parquet or arrow")
	flags.StringVar(&o.table, "table", "figures", "which `TABLE`: figures, or runs with scores, margins and places")
	flags.StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	flags.BoolVar(&o.full, "full", false, "show every figure, interval and test")
	flags.StringVar(&o.name, "name", "", "show the agent under this `NAME`")
	flags.StringVar(&o.labels.Models, "model", "", "the `MODELS` for the Markdown row")
	flags.StringVar(&o.labels.Hours, "hours", "", "the `HOURS` of the Markdown row")
	flags.StringVar(&o.labels.Date, "date", "", "the `DATE` of the Markdown row (default: the newest report's)")
}

func (o *showOptions) check(json bool) error {
	if json {
		o.format = "json"
	}
	if !slices.Contains([]string{"text", "markdown", "json", "csv", "parquet", "arrow"}, o.format) {
		return app.Usagef("--format %s: it is text, markdown, json, csv, parquet or arrow", o.format)
	}
	if o.table != "figures" && o.table != "runs" {
		return app.Usagef("--table %s: it is figures or runs", o.table)
	}
	return nil
}

func showLeaderboard(t *app.Terminal, r boards.Result, o showOptions) error {
	if o.name != "" {
		r.Agents[0].Name = o.name
	}
	var out bytes.Buffer
	if err := renderLeaderboard(t, &out, r, o); err != nil {
		return err
	}
	for _, w := range r.Warnings() {
		fmt.Fprintf(t.Stderr, "%s %s\n", t.ErrStyle().Warn(w.Title), view.Text(w.Text))
	}
	if o.output == "" {
		_, err := t.Stdout.Write(out.Bytes())
		return err
	}
	return app.ReplaceFile(o.output, out.Bytes())
}

func renderLeaderboard(term *app.Terminal, out *bytes.Buffer, r boards.Result, o showOptions) error {
	layout := boards.Layout{Style: term.OutStyle(), Width: app.BoardWidth(term), Full: o.full}
	switch o.format {
	case "text":
		if o.table == "runs" {
			return layout.Runs(out, r)
		}
		return layout.Text(out, r)
	case "json":
		return app.WriteJSON(out, r.JSON())
	case "markdown":
		out.WriteString(r.Markdown(o.labels))
		return nil
	}
	t, err := r.Table(o.table)
	if err != nil {
		return err
	}
	return export.Write(out, t, export.Format(o.format))
}
