package pipeline

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/telemetry"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
)

// otelWait is how long a run that is over waits for a collector.
const otelWait = 5 * time.Second

// otelFlags say where a run sends its spans while it goes on.
type otelFlags struct {
	collector string
	content   bool
}

func (o *otelFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.collector, "otel", "", "send spans to the OpenTelemetry collector at `URL`, or env: as OTEL_EXPORTER_OTLP_ENDPOINT says")
	flags.BoolVar(&o.content, "otel-content", false, "send prompts and replies, too")
}

// start returns a sink that also sends spans, and what ends it. A collector that
// is slow or down costs the run nothing but a warning and five seconds at its end.
func (o otelFlags) start(ctx context.Context, a *app.App, b *app.Backend, sink event.Sink) (event.Sink, func(), error) {
	if o.collector == "" {
		if o.content {
			return nil, nil, app.Usagef("--otel-content goes with --otel URL")
		}
		return sink, func() {}, nil
	}
	collector, err := telemetry.Address(o.collector, a.Env)
	if err != nil {
		return nil, nil, app.Usagef("--otel: %w", err)
	}
	to, err := telemetry.Open(ctx, telemetry.Options{Collector: collector, Env: a.Env, Content: o.content, Lossy: true, Version: app.ThisVersion().Version})
	if err != nil {
		return nil, nil, app.Usagef("--otel: %w", err)
	}
	live := telemetry.NewLive(to, a.FindRun, b.Options.Cache)
	return event.Multi(sink, live), func() {
		if err := live.Close(otelWait); err != nil {
			a.Warn("OpenTelemetry collector " + collector + ": " + view.OneLine(err.Error()) + "; mleflow export otel " + live.Run + " --endpoint " + collector + " sends the run's spans again")
		}
	}, nil
}
