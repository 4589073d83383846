package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/inspectlog"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/atif"
)

func newExportInspect(a *app.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "inspect [RUN] -o DIR",
		Short: "Write a run's attempts as evaluation logs of Inspect AI",
		Args:  app.Needs(app.Takes(0, 1), "output"),
		RunE: a.OnRun(func(cmd *cobra.Command, past *ledger.Past, _ []string) error {
			if err := a.UseRun(past); err != nil {
				return err
			}
			return a.WithResults(past, func(c app.ResultCache) error { return exportInspect(cmd.Context(), a, past, c, output) })
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the logs into `DIR`")
	return cmd
}

// WrittenLog is a log in export inspect --json.
type WrittenLog struct {
	Path    string `json:"path"`
	Agent   string `json:"agent"`
	Samples int    `json:"samples"`
}

func exportInspect(ctx context.Context, a *app.App, past *ledger.Past, c app.ResultCache, dir string) error {
	x := inspector{c: c}
	logs, err := x.logs(ctx, a, past)
	if err != nil {
		return err
	}
	written := []WrittenLog{}
	for _, l := range logs {
		written = append(written, WrittenLog{filepath.Join(dir, l.FileName()), l.Agent, len(l.Attempts)})
	}
	if err := writeLogs(dir, logs); err != nil {
		return err
	}
	if a.JSON {
		return app.WriteJSON(a.Stdout, map[string]any{"logs": written})
	}
	for _, w := range written {
		fmt.Fprintf(a.Stdout, "%s holds %s of %s.\n", w.Path, view.Plural(w.Samples, "sample"), view.OneLine(w.Agent))
	}
	return nil
}

// writeLogs writes all logs next to the folder before it moves them there. A file
// that is there already must be equal.
func writeLogs(dir string, logs []*inspectlog.Log) error {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fmt.Errorf("write logs: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".mleflow-inspect-*")
	if err != nil {
		return fmt.Errorf("write logs: %w", err)
	}
	defer os.RemoveAll(work)
	for _, l := range logs {
		if err := wholefile.Create(filepath.Join(work, l.FileName()), 0o666, l.Write); err != nil {
			return fmt.Errorf("write log of %s: %w", l.Agent, err)
		}
		switch same, err := sameFile(filepath.Join(work, l.FileName()), filepath.Join(dir, l.FileName())); {
		case err != nil:
			return fmt.Errorf("write logs: %w", err)
		case !same:
			return app.Usagef("%s already exists and differs; move it away, or write elsewhere", filepath.Join(dir, l.FileName()))
		}
	}
	err = os.MkdirAll(dir, 0o777)
	for _, l := range logs {
		if err == nil {
			err = os.Rename(filepath.Join(work, l.FileName()), filepath.Join(dir, l.FileName()))
		}
	}
	if err != nil {
		return fmt.Errorf("write logs: %w", err)
	}
	return nil
}

// sameFile reports whether the old file is missing or equals the new one.
func sameFile(made, old string) (bool, error) {
	was, err := os.ReadFile(old)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	is, err := os.ReadFile(made)
	return bytes.Equal(was, is), err
}

// inspector gathers the attempts of a run for logs.
type inspector struct {
	c       app.ResultCache
	started time.Time
	// agents names the agents by the block of their attempts.
	agents map[string]string
}

// logs returns the logs of a run, by agent.
func (x *inspector) logs(ctx context.Context, a *app.App, past *ledger.Past) ([]*inspectlog.Log, error) {
	catalog, err := a.Catalog()
	if err != nil {
		return nil, err
	}
	run, err := leaderboard.TidyRun(past, x.c, catalog)
	if err != nil {
		return nil, err
	}
	sum, err := past.Summary()
	if err != nil {
		return nil, err
	}
	records, left, err := attempts.Collect(ctx, run)
	if err != nil {
		return nil, err
	}
	x.started, x.agents = run.Started, map[string]string{}
	by := map[string]*inspectlog.Log{}
	add := func(one *inspectlog.Attempt) {
		if by[one.Agent] == nil {
			by[one.Agent] = newLog(run, sum.State, one.Agent)
		}
		by[one.Agent].Attempts = append(by[one.Agent].Attempts, one)
	}
	for _, r := range records {
		one, err := x.attempt(ctx, r)
		if err != nil {
			return nil, err
		}
		add(one)
	}
	for _, s := range run.Steps {
		if one := x.failed(s); one != nil {
			left = slices.DeleteFunc(left, func(l attempts.Left) bool { return l.Address == s.Address })
			add(one)
			if l := by[one.Agent]; l.Status == "success" {
				l.Status = "error"
			}
		}
	}
	leaderboard.TellLeft(a, left)
	if len(by) == 0 {
		return nil, app.Usagef("run %s has no attempt of an agent and no grade to write", run.ID)
	}
	var logs []*inspectlog.Log
	for _, agent := range slices.Sorted(maps.Keys(by)) {
		logs = append(logs, by[agent])
	}
	return logs, nil
}

func newLog(run attempts.Run, state ledger.State, agent string) *inspectlog.Log {
	l := &inspectlog.Log{Agent: agent, Run: run.ID, Pipeline: run.Pipeline, Created: run.Started, Status: "success"}
	switch state {
	case ledger.Running:
		l.Status = "started"
	case ledger.Paused, ledger.Cancelled, ledger.Interrupted:
		l.Status = "cancelled"
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

// attempt completes a record by the times, exit status and transcript of its
// attempt.
func (x *inspector) attempt(ctx context.Context, r *results.Attempt) (*inspectlog.Attempt, error) {
	at := &inspectlog.Attempt{Attempt: r, Started: x.started, Ended: x.started}
	if r.AttemptAction == "" {
		return at, nil
	}
	id, err := digest.ParseActionID(r.AttemptAction)
	if err != nil {
		return nil, fmt.Errorf("read action of %s: %w", r.Address, err)
	}
	rec, err := x.c.Lookup(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", r.Address, err)
	}
	x.agents[blockOf(r.Address)] = r.Agent
	at.Started = time.UnixMilli(rec.StartedUnixMilli)
	at.Ended = at.Started.Add(time.Duration(rec.DurationMillis) * time.Millisecond)
	if ref := rec.Outputs["transcript"].Ref; ref.Files > 0 { // without models it is empty
		at.Talk = func() (*atif.Trajectory, map[string]*inspectlog.Usage, error) { return x.talk(ctx, ref, r) }
	}
	return at, nil
}

// talk reads a transcript.
func (x *inspector) talk(ctx context.Context, ref cache.Ref, about *results.Attempt) (*atif.Trajectory, map[string]*inspectlog.Usage, error) {
	r, err := transcript.OpenReader(tree.NewFS(ctx, x.c, ref))
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	used, err := inspectlog.Measured(r)
	if err != nil {
		return nil, nil, err
	}
	tr, err := atif.Export(r, atif.Run{Agent: about.Agent, Version: about.AgentVersion})
	if errors.Is(err, atif.ErrEmpty) {
		return nil, used, nil
	}
	return tr, used, err
}

// failed returns the attempt of a step that failed and has no result, or nil.
// The step's block tells the agent if it has other attempts.
func (x *inspector) failed(s ledger.StepSummary) *inspectlog.Attempt {
	if s.Kind != conditions.AttemptKind || s.Action != "" || s.Status != event.Failed {
		return nil
	}
	one := &inspectlog.Attempt{Failed: cmp.Or(s.Error, "the step failed"), Started: s.Started, Ended: s.Ended}
	one.Address, one.Agent = s.Address, cmp.Or(x.agents[blockOf(s.Address)], blockOf(s.Address))
	one.Report.CompetitionID = s.Address
	return one
}

func blockOf(address string) string {
	parsed, err := addr.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Step.Name
}
