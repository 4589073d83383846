package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

type exportOptions struct {
	format, table, output string
	at                    []time.Duration
	rules                 leaderboard.RuleFlags
}

// NewExport returns the command export.
func NewExport(a *app.App) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [RESULT]... --format FORMAT",
		Short: "Write results as a table for notebooks, or in the format of another tool",
		Args:  app.Takes(0, -1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && o.format == "" && slices.Contains([]string{"mlflow", "wandb", "trackio"}, args[0]) {
				return app.Usagef("the Python package writes to %[1]s: python -m mleflow export %[1]s RUN (docs/export.md)", args[0])
			}
			if err := o.check(a.Terminal); err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{"latest"}
			}
			return exportRows(cmd.Context(), a, o, args)
		}),
	}
	cmd.Flags().StringVar(&o.format, "format", "", "`FORMAT`: parquet, arrow, csv or json")
	cmd.Flags().StringVar(&o.table, "table", "attempts", "which `TABLE`: attempts or snapshots")
	cmd.Flags().DurationSliceVar(&o.at, "at", nil, "add columns with what stopping every attempt after `TIMES` such as 1h,6h would have given, by graded snapshots")
	o.rules.Register(cmd.Flags())
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.AddCommand(newExportRunGroup(a), newExportATIF(a), newExportInspect(a), newExportHarbor(a), newExportOtel(a))
	return cmd
}

// check fills in what follows from the name of the file and from --json.
func (o *exportOptions) check(t *app.Terminal) error {
	formats := []string{"parquet", "arrow", "csv", "json"}
	if end := strings.TrimPrefix(filepath.Ext(o.output), "."); o.format == "" && slices.Contains(formats, end) {
		o.format = end
	}
	if o.format == "" && t.JSON {
		o.format = string(export.JSON)
	}
	switch {
	case o.format == "":
		return app.Usagef("choose a format with --format: parquet, arrow, csv or json")
	case !slices.Contains(formats, o.format):
		return app.Usagef("--format %s: it is parquet, arrow, csv or json", o.format)
	case o.table != "attempts" && o.table != "snapshots":
		return app.Usagef("--table %s: it is attempts or snapshots", o.table)
	case len(o.at) > 0 && o.table != "attempts":
		return app.Usagef("--at adds columns to the table attempts, not %s", o.table)
	case t.JSON && o.output == "" && o.format != string(export.JSON):
		return app.Usagef("--json writes to standard output, where --format %s goes; name a file with -o", o.format)
	}
	return errors.Join(leaderboard.CheckStops(o.at), o.rules.Check())
}

// ExportedJSON is what export --json prints of a file that it wrote.
type ExportedJSON struct {
	Path    string `json:"path"`
	Table   string `json:"table"`
	Format  string `json:"format"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
}

func exportRows(ctx context.Context, a *app.App, o exportOptions, args []string) error {
	var records []*results.Attempt
	for _, arg := range args {
		list, err := leaderboard.RecordsOf(ctx, a, arg)
		if err != nil {
			return err
		}
		records = append(records, list...)
	}
	records = leaderboard.WithoutFound(a, o.rules, results.Rows(records))
	t, err := export.Attempts(records, o.at...)
	if o.table == "snapshots" {
		t, err = export.Snapshots(records)
	}
	if err != nil {
		return fmt.Errorf("make table: %w", err)
	}
	if o.output == "" {
		return export.Write(a.Stdout, t, export.Format(o.format))
	}
	if err := writeTable(o.output, t, export.Format(o.format)); err != nil {
		return err
	}
	if a.JSON {
		return app.WriteJSON(a.Stdout, ExportedJSON{o.output, o.table, o.format, t.Len(), len(t.Columns())})
	}
	fmt.Fprintf(a.Stdout, "%s holds %s.\n", o.output, view.Plural(t.Len(), "row"))
	return nil
}

// writeTable writes a file as a whole.
func writeTable(path string, t *table.Table, f export.Format) error {
	var out bytes.Buffer
	if err := export.Write(&out, t, f); err != nil {
		return err
	}
	return app.ReplaceFile(path, out.Bytes())
}

func newExportATIF(a *app.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "atif RUN ADDRESS [-o FILE]",
		Short: "Write an attempt's conversation with its models as a trajectory",
		Args:  app.Takes(2, 2),
		RunE: a.OnRun(func(cmd *cobra.Command, past *history.Past, args []string) error {
			return runs.WithTranscript(cmd.Context(), a, past, args[1], func(rec *cache.Record, r *transcript.Reader) error {
				return exportATIF(cmd.Context(), a, past.Info.ID, rec, r, output)
			})
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return cmd
}

// sentTurn is an exchange as a module of the Python package gets it.
type sentTurn struct {
	runs.ShownTurn
	Tools []message.Tool `json:"tools,omitempty"`
}

// mostTurns bounds the bytes of the exchanges that a module gets, since it holds them in memory.
const mostTurns = 2 << 30

// sendTurns writes the exchanges of a transcript, then null, and reports whether they have a
// conversation.
func sendTurns(w io.Writer, r *transcript.Reader) (conversation bool, err error) {
	size := 0
	for t, err := range r.Turns() {
		if err != nil {
			return false, err
		}
		conversation = conversation || t.Conversation > 0
		e := *t.Event
		e.Time = e.Time.UTC()
		line, err := json.Marshal(sentTurn{runs.ShownTurn{Event: &e, Conversation: t.Conversation, Said: t.Said, Reply: t.Reply}, t.Tools})
		if size += len(line); err == nil && size > mostTurns {
			err = fmt.Errorf("the exchanges have more than %d bytes", mostTurns)
		}
		if err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil {
			return false, err
		}
	}
	_, err = io.WriteString(w, "null\n")
	return conversation, err
}

func exportATIF(ctx context.Context, a *app.App, run string, rec *cache.Record, r *transcript.Reader, output string) error {
	at := bundle.AttemptOf(rec.Address, rec)
	extra := map[string]any{
		"competition": at.Competition, "competition_version": at.CompetitionVersion, "seed": at.Seed, "outcome": at.Result.Outcome,
		"action": rec.Action.String(), "mleflow_run": run,
	}
	made, err := atifModule.run(ctx, a, func(w io.Writer) error {
		about := map[string]any{"session": rec.Run + "/" + rec.Address, "agent": at.Agent, "version": at.AgentVersion, "extra": extra}
		if err := json.NewEncoder(w).Encode(about); err != nil {
			return err
		}
		conversation, err := sendTurns(w, r)
		if err == nil && !conversation {
			err = app.Usagef("%s has nothing to export: no conversation was recorded", rec.Address)
		}
		return err
	}, "export")
	if err != nil {
		return err
	}
	var tr struct {
		Steps     []struct{} `json:"steps"`
		Subagents []struct{} `json:"subagent_trajectories"`
	}
	if err := json.Unmarshal(made, &tr); err != nil {
		return fmt.Errorf("export transcript: %w", err)
	}
	if output == "" {
		return app.WriteJSON(a.Stdout, json.RawMessage(made))
	}
	err = wholefile.Create(output, 0o666, func(w io.Writer) error { return app.WriteJSON(w, json.RawMessage(made)) })
	if errors.Is(err, os.ErrExist) {
		return app.Usagef("%s already exists; move it away, or write elsewhere", output)
	}
	if err != nil {
		return fmt.Errorf("write trajectory: %w", err)
	}
	if a.JSON {
		return app.WriteJSON(a.Stdout, map[string]any{"path": output, "steps": len(tr.Steps), "subagents": len(tr.Subagents)})
	}
	fmt.Fprintf(a.Stdout, "%s holds %d steps and %d other conversations.\n", output, len(tr.Steps), len(tr.Subagents))
	return nil
}
