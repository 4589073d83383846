package outputs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/plan"
)

// boardKind is the kind of the steps that write leaderboards.
const boardKind = "aggregate"

// copied are the outputs of a kind that All writes unchanged.
var copied = map[string][]string{
	conditions.AttemptKind: {"submission", "code", "logs", "snapshots"},
	conditions.GradeKind:   {"report"},
	boardKind:              {"files"},
}

// Written counts what All wrote.
type Written struct {
	Attempts int `json:"attempts"`
	Reports  int `json:"reports"`
	Boards   int `json:"boards"`
	// Missing are the addresses whose results are no longer in the cache.
	Missing []string `json:"missing,omitempty"`
}

// All writes the attempts of a run to dir/AGENT/COMPETITION/SEED, each with submission,
// code, logs and, where it was graded, report.json, and its boards to dir/boards/NAME. p
// is the run's plan, which connects attempts with their grades.
func (s *Source) All(ctx context.Context, p *plan.Plan, dir string, opts Options) (*Written, error) {
	out := &Written{}
	records, err := s.records(ctx, p, out)
	if err != nil {
		return out, err
	}
	var files, bytes int64
	for n, rec := range records {
		if rec != nil {
			f, b := rec.Outputs.Content(copied[p.Steps[n].Kind]...)
			files, bytes = files+f, bytes+b
		}
	}
	opts.Work.Begin("", files, bytes)
	folders, labels := map[int]string{}, labelsOf(p, records)
	for n, rec := range records {
		if rec == nil {
			continue
		}
		st := &p.Steps[n]
		switch st.Kind {
		case conditions.AttemptKind:
			folders[n] = attemptFolder(dir, st.Address, rec, labels[n])
			err = s.attempt(ctx, rec, folders[n], opts)
			out.Attempts++
		case conditions.GradeKind:
			err = s.copyTo(ctx, rec.Outputs["report"].Ref, filepath.Join(reportFolder(dir, st, folders), "report.json"), opts)
			out.Reports++
		case boardKind:
			if ref := rec.Outputs["files"].Ref; !ref.IsZero() { // older versions stored none
				err = s.copyTo(ctx, ref, filepath.Join(dir, "boards", safeName(instanceName(st.Address))), opts)
			}
			out.Boards++
		}
		if err != nil {
			return out, fmt.Errorf("get %s: %w", st.Name, err)
		}
	}
	return out, nil
}

// records returns the results of the steps that All writes, and nil for other steps.
func (s *Source) records(ctx context.Context, p *plan.Plan, out *Written) ([]*cache.Record, error) {
	records := make([]*cache.Record, len(p.Steps))
	for n := range p.Steps {
		st := &p.Steps[n]
		if copied[st.Kind] == nil {
			continue
		}
		rec, err := s.Record(ctx, st.Name)
		if errors.Is(err, ErrNone) {
			out.Missing = append(out.Missing, st.Name)
			continue
		}
		if err != nil {
			return nil, err
		}
		records[n] = rec
	}
	return records, nil
}

func instanceName(a addr.Instance) string {
	if a.HasKey {
		return a.Step.Name + "-" + a.Key
	}
	return a.Step.Name
}

// labelsOf returns the labels of attempts' grades, by the index of the attempt in the
// plan.
func labelsOf(p *plan.Plan, records []*cache.Record) map[int]map[string]string {
	out := map[int]map[string]string{}
	for n, rec := range records {
		var labels map[string]string
		if p.Steps[n].Kind == conditions.GradeKind && rec != nil && json.Unmarshal([]byte(rec.Field("labels")), &labels) == nil {
			for _, before := range p.Steps[n].After {
				out[before] = labels
			}
		}
	}
	return out
}

// attemptFolder returns the folder of an attempt, by agent, competition and seed as in
// the labels of its grade. If another block's attempt has that folder already, the step's
// name is prepended.
func attemptFolder(dir string, a addr.Instance, rec *cache.Record, labels map[string]string) string {
	var agent string
	_ = json.Unmarshal([]byte(rec.Field("agent.name")), &agent)
	rel := filepath.Join(safeName(cmp.Or(labels["agent"], agent, "agent")), safeName(rec.Field("competition")), safeName(cmp.Or(labels["seed"], rec.Field("seed"), "0")))
	at := filepath.Join(dir, rel)
	if _, err := os.Lstat(at); err == nil {
		at = filepath.Join(dir, safeName(instanceName(a)), rel)
	}
	return at
}

func (s *Source) attempt(ctx context.Context, rec *cache.Record, at string, opts Options) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for _, name := range copied[conditions.AttemptKind] {
		ref := rec.Outputs[name].Ref
		if ref.IsZero() || name == "snapshots" && ref.Files == 0 {
			continue
		}
		if err := s.copyTo(ctx, ref, filepath.Join(at, name), opts); err != nil {
			return err
		}
	}
	values := map[string]json.RawMessage{}
	for name, v := range rec.Outputs {
		if v.Ref.IsZero() {
			values[name] = v.JSON
		}
	}
	text, err := json.MarshalIndent(map[string]any{"address": rec.Address, "run": rec.Run, "outputs": values}, "", "  ")
	if err != nil {
		return err
	}
	return writeNew(filepath.Join(at, "attempt.json"), append(text, '\n'), 0o644)
}

// reportFolder returns the folder of the one attempt that a grade step depends on;
// without one, a folder of its own.
func reportFolder(dir string, st *plan.Step, folders map[int]string) string {
	var found []string
	for _, n := range st.After {
		if at, ok := folders[n]; ok {
			found = append(found, at)
		}
	}
	if len(found) == 1 {
		if _, err := os.Lstat(filepath.Join(found[0], "report.json")); err != nil {
			return found[0]
		}
	}
	return filepath.Join(dir, "reports", safeName(instanceName(st.Address)))
}

// safeName turns a name into one path element.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' || r == 0x7f {
			return '-'
		}
		return r
	}, name)
	if name == "" || name == "." || name == ".." {
		return "_" + name
	}
	return name
}
