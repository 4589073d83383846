package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/telemetry"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/history"
)

type otelOptions struct {
	output, endpoint string
	content          bool
}

// ExportedSpans is what export otel --json prints.
type ExportedSpans struct {
	Path      string `json:"path,omitempty"`
	Collector string `json:"collector,omitempty"`
	Spans     int    `json:"spans"`
}

func newExportOtel(a *app.App) *cobra.Command {
	var o otelOptions
	cmd := a.RunCommand("otel [RUN] [-o FILE | --endpoint URL]", "Write or send a run as OpenTelemetry spans", app.Takes(0, 1),
		func(cmd *cobra.Command, past *history.Past, _ []string) error {
			if o.output != "" && o.endpoint != "" {
				return app.Usagef("-o FILE and --endpoint URL exclude each other")
			}
			if a.JSON && o.output == "" && o.endpoint == "" {
				return app.Usagef("--json writes to standard output, where the spans go; name a file with -o")
			}
			return exportOtel(cmd.Context(), a, past, o)
		})
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.Flags().StringVar(&o.endpoint, "endpoint", "", "send to the collector at `URL`, or env: as OTEL_EXPORTER_OTLP_ENDPOINT says")
	cmd.Flags().BoolVar(&o.content, "content", false, "with prompts, replies, and arguments and results of tools")
	return cmd
}

func exportOtel(ctx context.Context, a *app.App, past *history.Past, o otelOptions) (err error) {
	to := telemetry.Options{Env: a.Env, Content: o.content, Version: past.Info.Version}
	if o.endpoint != "" {
		if to.Collector, err = telemetry.Address(o.endpoint, a.Env); err != nil {
			return app.Usagef("--endpoint: %w", err)
		}
	}
	var spans int
	write := func(w io.Writer) error {
		to.File = w
		spans, err = sendRun(ctx, a, past, to)
		return err
	}
	if o.output == "" {
		err = write(a.Stdout)
	} else {
		err = wholefile.Create(o.output, 0o666, write)
	}
	switch {
	case errors.Is(err, os.ErrExist):
		return app.Usagef("%s already exists; move it away, or write elsewhere", o.output)
	case err != nil || o.output == "" && o.endpoint == "":
		return err
	}
	return a.Show(ExportedSpans{o.output, to.Collector, spans}, func() {
		where := view.Either(o.output != "", o.output+" holds", to.Collector+" has received")
		fmt.Fprintf(a.Stdout, "%s %s.\n", where, view.Plural(spans, "span"))
	})
}

// sendRun sends the spans of a run and returns their number.
func sendRun(ctx context.Context, a *app.App, past *history.Past, o telemetry.Options) (spans int, err error) {
	to, err := telemetry.Open(ctx, o)
	if err != nil {
		return 0, app.Wrong(err)
	}
	err = a.WithResults(past, func(c app.ResultCache) error {
		run := telemetry.NewRun(to, past, c)
		err := run.All(ctx)
		for _, missing := range run.Missing() {
			a.Warn("some spans are incomplete or missing: " + missing.Error())
		}
		return err
	})
	made, sent, lost := to.Close(ctx)
	switch {
	case ctx.Err() != nil:
		return sent, ctx.Err()
	case lost != nil && o.Collector != "":
		return sent, fmt.Errorf("send spans to %s: %d of %d did not arrive: %w", o.Collector, made-sent, made, lost)
	case lost != nil:
		return sent, fmt.Errorf("write spans: %w", lost)
	}
	return sent, err
}
