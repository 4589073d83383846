package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

func newExportInspect(a *app.App) *cobra.Command {
	var output string
	cmd := a.RunCommand("inspect [RUN] -o DIR",
		"Write a run's attempts as evaluation logs of Inspect AI", app.Needs(app.Takes(0, 1), "output"),
		func(cmd *cobra.Command, past *history.Past, _ []string) error {
			if err := a.UseRun(past); err != nil {
				return err
			}
			return a.WithResults(past, func(c app.ResultCache) error { return exportInspect(cmd.Context(), a, past, c, output) })
		})
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the logs into `DIR`")
	return cmd
}

// inspectLog is the first line of a log in the stream to the Python package, which documents the
// stream. Its attempts follow.
type inspectLog struct {
	Agent    string         `json:"agent"`
	Run      string         `json:"run"`
	Pipeline string         `json:"pipeline"`
	Created  int64          `json:"created_ms"`
	Status   string         `json:"status"`
	Tags     []string       `json:"tags"`
	Metadata map[string]any `json:"metadata"`
	Samples  int            `json:"samples"`
	attempts []*inspectAttempt
}

// inspectAttempt is the line of an attempt. Its rows are those of the tables that export writes.
type inspectAttempt struct {
	Row       json.RawMessage `json:"row"`
	Snapshots json.RawMessage `json:"snapshots"`
	Epoch     int             `json:"epoch"`
	Counts    bool            `json:"counts"`
	Failed    bool            `json:"failed"`
	Error     string          `json:"error"`
	Started   int64           `json:"started_ms"`
	Ended     int64           `json:"ended_ms"`
	// Recorded means that the lines of its exchanges follow.
	Recorded bool `json:"recorded"`

	of         *results.Attempt
	transcript cache.Ref
}

// WrittenLog is a log in export inspect --json.
type WrittenLog struct {
	Path    string `json:"path"`
	Agent   string `json:"agent"`
	Samples int    `json:"samples"`
}

func exportInspect(ctx context.Context, a *app.App, past *history.Past, c app.ResultCache, dir string) error {
	x := inspector{c: c}
	logs, err := x.logs(ctx, a, past)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("write logs: %w", err)
	}
	out, err := inspectModule.run(ctx, a, func(w io.Writer) error { return x.send(ctx, w, logs) }, "export", folder, dir, strconv.Itoa(len(logs)))
	if err != nil {
		return err
	}
	var written []WrittenLog
	if err := json.Unmarshal(out, &written); err != nil {
		return fmt.Errorf("write logs: %w", err)
	}
	return a.Show(map[string]any{"logs": written}, func() {
		for _, w := range written {
			fmt.Fprintf(a.Stdout, "%s holds %s of %s.\n", w.Path, view.Plural(w.Samples, "sample"), view.OneLine(w.Agent))
		}
	})
}

// send writes the logs, attempt by attempt. What is read for an attempt is not kept.
func (x *inspector) send(ctx context.Context, w io.Writer, logs []*inspectLog) error {
	lines := json.NewEncoder(w)
	for _, l := range logs {
		if err := lines.Encode(l); err != nil {
			return err
		}
		for _, one := range l.attempts {
			if err := x.sendAttempt(ctx, w, *one); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendAttempt writes an attempt with its rows, and the exchanges of its transcript.
func (x *inspector) sendAttempt(ctx context.Context, w io.Writer, one inspectAttempt) (err error) {
	alone := []*results.Attempt{one.of}
	row, errRow := rowsOf(export.Attempts(alone))
	snapshots, err := rowsOf(export.Snapshots(alone))
	if err := cmp.Or(errRow, err); err != nil {
		return err
	}
	one.Row, one.Snapshots = row, snapshots
	one.Recorded = one.transcript.Files > 0 // without models it is empty
	if err := json.NewEncoder(w).Encode(one); err != nil || !one.Recorded {
		return err
	}
	r, err := transcript.OpenReader(tree.NewFS(ctx, x.c, one.transcript))
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = sendTurns(w, r)
	return err
}

// inspector gathers the attempts of a run for logs.
type inspector struct {
	c       app.ResultCache
	started time.Time
	// agents names the agents by the block of their attempts.
	agents map[string]string
}

// logs returns the logs of a run, by agent.
func (x *inspector) logs(ctx context.Context, a *app.App, past *history.Past) ([]*inspectLog, error) {
	catalog, err := a.Catalog()
	if err != nil {
		return nil, err
	}
	run, errRun := leaderboard.TidyRun(past, x.c, catalog)
	sum, err := past.Summary()
	if err := cmp.Or(errRun, err); err != nil {
		return nil, err
	}
	records, left, err := attempts.Collect(ctx, run)
	if err != nil {
		return nil, err
	}
	x.started, x.agents = run.Started, map[string]string{}
	var list []*inspectAttempt
	for _, r := range records {
		one, err := x.attempt(ctx, r)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	for _, s := range run.Steps {
		if one := x.failed(s); one != nil {
			left = slices.DeleteFunc(left, func(l attempts.Left) bool { return l.Address == s.Address })
			list = append(list, one)
		}
	}
	leaderboard.TellLeft(a, left)
	if len(list) == 0 {
		return nil, app.Usagef("run %s has no attempt of an agent and no grade to write", run.ID)
	}
	by := lists.By(list, func(one *inspectAttempt) string { return one.of.Agent })
	return lists.Of(slices.Sorted(maps.Keys(by)), func(agent string) *inspectLog {
		return newLog(run, sum.State, agent, by[agent])
	}), nil
}

func newLog(run attempts.Run, state history.State, agent string, list []*inspectAttempt) *inspectLog {
	l := &inspectLog{Agent: agent, Run: run.ID, Pipeline: run.Pipeline, Created: run.Started.UnixMilli(), Status: "success", Samples: len(list), attempts: list}
	l.count()
	switch {
	case state == history.Running:
		l.Status = "started"
	case state == history.Paused, state == history.Cancelled, state == history.Interrupted:
		l.Status = "cancelled"
	case slices.ContainsFunc(list, func(one *inspectAttempt) bool { return one.Error != "" }):
		l.Status = "error"
	}
	l.Metadata = map[string]any{"mleflow": run.Version, "run": run.ID, "run_name": run.About.Called(run.ID), "pipeline": run.Pipeline, "standing": run.Standing}
	if run.About.Note != "" {
		l.Metadata["run_note"] = run.About.Note
	}
	for _, name := range slices.Sorted(maps.Keys(run.About.Tags)) {
		l.Tags = append(l.Tags, strings.TrimSuffix(name+"="+run.About.Tags[name], "="))
	}
	return l
}

// count numbers the epochs, which are the places of the seeds among those of the log.
func (l *inspectLog) count() {
	seeds := lists.Of(l.attempts, func(one *inspectAttempt) string { return one.of.Seed })
	slices.SortFunc(seeds, func(x, y string) int { return cmp.Or(results.CompareSeeds(x, y), cmp.Compare(x, y)) })
	seeds = slices.Compact(seeds)
	for _, one := range l.attempts {
		one.Epoch = 1 + slices.Index(seeds, one.of.Seed)
	}
}

// attempt returns an attempt with the times of its step.
func (x *inspector) attempt(ctx context.Context, r *results.Attempt) (*inspectAttempt, error) {
	one := &inspectAttempt{of: r, Counts: r.Uncounted() == "", Failed: r.Made.Outcome.Failed(), Started: x.started.UnixMilli(), Ended: x.started.UnixMilli()}
	if r.AttemptAction == "" {
		return one, nil
	}
	rec, err := outputs.Lookup(ctx, x.c, r.AttemptAction)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", r.Address, err)
	}
	x.agents[blockOf(r.Address)] = r.Agent
	one.Started, one.Ended = rec.StartedUnixMilli, rec.StartedUnixMilli+rec.DurationMillis
	one.transcript = rec.Outputs["transcript"].Ref
	return one, nil
}

func rowsOf(t *table.Table, err error) (json.RawMessage, error) {
	var text bytes.Buffer
	if err == nil {
		err = export.Write(&text, t, export.JSON)
	}
	return text.Bytes(), err
}

// failed returns the attempt of a step that failed and has no result, or nil.
// The step's block tells the agent if it has other attempts.
func (x *inspector) failed(s history.StepSummary) *inspectAttempt {
	if s.Kind != conditions.AttemptKind || s.Action != "" || s.Status != event.Failed {
		return nil
	}
	one := &results.Attempt{Address: s.Address, Agent: cmp.Or(x.agents[blockOf(s.Address)], blockOf(s.Address))}
	one.Report.CompetitionID = s.Address
	return &inspectAttempt{of: one, Error: cmp.Or(s.Error, "the step failed"), Started: s.Started.UnixMilli(), Ended: s.Ended.UnixMilli()}
}

func blockOf(address string) string {
	parsed, err := addr.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Step.Name
}
