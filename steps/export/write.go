package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// attempt are the outputs of an agent-run step that are used.
type attempt struct {
	Code       *step.Artifact `cty:"code"`
	Logs       *step.Artifact `cty:"logs"`
	Submission *step.Artifact `cty:"submission"`
	Outcome    string         `cty:"outcome"`
	Stats      stats          `cty:"stats"`
}

// stats are those that results.Attempt takes.
type stats struct {
	WallSeconds     float64                     `json:"wall_seconds" cty:"wall_seconds"`
	CPUSeconds      float64                     `json:"cpu_seconds" cty:"cpu_seconds"`
	PeakMemoryBytes float64                     `json:"peak_memory_bytes" cty:"peak_memory_bytes"`
	ExitCode        int                         `json:"exit_code" cty:"exit_code"`
	Validations     int                         `json:"validations" cty:"validations"`
	ShimCalls       int                         `json:"shim_calls" cty:"shim_calls"`
	LostServices    []string                    `json:"lost_services" cty:"lost_services"`
	Models          map[string]results.ModelUse `json:"models" cty:"models" optional:"true"`
}

// content is what the agent left, by the names of outputs.
func (t attempt) content() map[string]*step.Artifact {
	return map[string]*step.Artifact{"code": t.Code, "logs": t.Logs, "submission": t.Submission}
}

// enter enters what is known of the attempt.
func (t attempt) enter(ctx context.Context, env *step.Env, a *results.Attempt) error {
	end, errEnd := json.Marshal(t.Outcome)
	text, err := json.Marshal(t.Stats)
	if err := cmp.Or(errEnd, err); err != nil {
		return err
	}
	models, err := a.MadeBy(string(end), string(text))
	if err != nil || len(models) > 0 || t.Logs == nil {
		return err
	}
	a.Made.Usage, err = results.Claimed(ctx, env.Store, t.Logs.Ref)
	if errors.Is(err, results.ErrUsage) {
		env.Warn(fmt.Sprintf("%s: %v", t.Logs.From, err))
		return nil
	}
	return err
}

// table writes the table.
func (e *exporting) table(ctx context.Context, env *step.Env) (cache.Ref, error) {
	list, err := e.known(ctx, env)
	if err != nil {
		return cache.Ref{}, err
	}
	var t *table.Table
	if e.args.Table == snapshotsTable {
		t, err = export.Snapshots(list)
	} else {
		t, err = export.Attempts(list, e.stops...)
	}
	if err != nil {
		return cache.Ref{}, err
	}
	var out bytes.Buffer
	if err := export.Write(&out, t, export.Format(e.args.Format)); err != nil {
		return cache.Ref{}, err
	}
	return cache.PutBytes(ctx, env.Store, out.Bytes())
}

// runGroups writes the run groups. Their time is the Unix epoch.
func (e *exporting) runGroups(ctx context.Context, env *step.Env) (ref cache.Ref, err error) {
	known, err := e.known(ctx, env)
	if err != nil {
		return ref, err
	}
	var list []rungroup.Attempt
	for i, a := range known {
		left := cache.Outputs{}
		for name, content := range e.args.Attempts[i].content() {
			if content != nil {
				left[name] = cache.Value{Ref: content.Ref}
			}
		}
		if version := a.Report.CompetitionVersion; version != "v1" {
			env.Warn(fmt.Sprintf("%s is left out: MLE-bench has no version %s of %s", e.args.Reports[i].From, version, a.Competition()))
			continue
		}
		list = append(list, rungroup.Attempt{Agent: a.Agent, Competition: a.Competition(), Outputs: left, Record: rungroup.Record{
			ID: rungroup.RunName(a.Competition(), a.Agent+" "+a.Seed+" "+left["submission"].Ref.ID.String()), Success: new(true), Seed: a.Seed,
			Outcome: outcome.End(e.args.Attempts[i].Outcome), WallSeconds: a.Made.WallSeconds, Conditions: a.Report.Conditions,
		}})
	}
	if len(list) == 0 {
		return ref, errors.New("no attempt is left, so there is no run group to write")
	}
	rungroup.Sort(list)
	for i := range list[1:] {
		if list[i].ID == list[i+1].ID {
			return ref, fmt.Errorf("two attempts of %s at %s have the seed %q and the same submission; label them with different seeds", list[i].Agent, list[i].Competition, list[i].Seed)
		}
	}
	dir, epoch, work := filepath.Join(env.WorkDir, "groups"), time.Unix(0, 0), new(progress.Work)
	defer env.Follow(work)()
	if _, err = rungroup.WriteGroups(ctx, env.Store, dir, rungroup.Origin{Started: epoch, Ended: epoch}, list, work); err != nil {
		return ref, err
	}
	return tree.Import(ctx, env.Store, dir, tree.ImportOptions{})
}
