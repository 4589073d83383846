package outputs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Source is the place from which results are taken.
type Source struct {
	Store cache.Files
	Index cache.Index
	// Run is the run that gave them.
	Run *history.Summary
	// Kinds say which outputs may hold answers. Get needs them.
	Kinds *step.Registry
}

// Options select how files are written.
type Options struct {
	// Link makes read-only hard links into the cache instead of copies.
	Link bool
	// Work, if set, counts the files and bytes that are written.
	Work *progress.Work
	// private makes what only its owner can read.
	private bool
}

func (o Options) tree() tree.Options {
	out := tree.Options{Mode: tree.Copy, Writable: true, OwnerOnly: o.private, Progress: tree.Count(o.Work)}
	if o.Link {
		out.Mode, out.Writable = tree.Link, false
	}
	return out
}

// ErrNone says that a run has no such result.
var ErrNone = errors.New("no such result")

// Record returns the outputs of a step of the run.
func (s *Source) Record(ctx context.Context, address string) (*cache.Record, error) {
	st := s.Run.Step(address)
	switch {
	case st == nil:
		return nil, fmt.Errorf("%w: run %s has no step %s; mleflow show %s -v lists its steps", ErrNone, s.Run.ID, address, s.Run.ID)
	case st.Action == "":
		return nil, fmt.Errorf("%w: %s has no outputs in run %s", ErrNone, address, s.Run.ID)
	}
	rec, err := Lookup(ctx, s.Index, st.Action)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, fmt.Errorf("%w: the outputs of %s are no longer in the cache; apply makes them again", ErrNone, address)
	}
	return rec, err
}

// Get writes outputs of a step below dir, each under its name, and returns
// the paths. Without a name it writes all. Only their owner can read those that may hold
// answers.
func (s *Source) Get(ctx context.Context, address, output, dir string, opts Options) ([]string, error) {
	rec, err := s.Record(ctx, address)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(rec.Outputs))
	if output != "" {
		if _, ok := rec.Outputs[output]; !ok {
			return nil, fmt.Errorf("%w: %s has no output %q; it has %s", ErrNone, address, output, strings.Join(names, ", "))
		}
		names = []string{output}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files, bytes := rec.Outputs.Content(names...)
	opts.Work.Begin("", files, bytes)
	var paths []string
	for _, name := range names {
		opts.private = s.Kinds.Kind(rec.Kind).MayHide(name)
		path, err := s.write(ctx, rec.Outputs[name], filepath.Join(dir, name), opts)
		if err != nil {
			return paths, fmt.Errorf("get %s of %s: %w", name, address, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// write writes an output to path, with a suffix for its format.
func (s *Source) write(ctx context.Context, v cache.Value, path string, opts Options) (string, error) {
	if v.Ref.Kind == cache.Tree {
		return path, s.copyTo(ctx, v.Ref, path, opts)
	}
	if v.Ref.IsZero() {
		text, err := publish.JSON(v.JSON)
		if err != nil {
			return "", err
		}
		return path + ".json", writeNew(path+".json", text, cache.Placement{Writable: true, OwnerOnly: opts.private}.FileMode())
	}
	suffix, err := publish.Suffix(ctx, s.Store, v.Ref)
	if err != nil {
		return "", err
	}
	return path + suffix, s.copyTo(ctx, v.Ref, path+suffix, opts)
}

// copyTo writes content to a path where nothing is, with the folder that it is in.
func (s *Source) copyTo(ctx context.Context, ref cache.Ref, path string, opts Options) error {
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, err := tree.Materialise(ctx, s.Store, ref, path, opts.tree())
	return err
}

func writeNew(path string, text []byte, mode fs.FileMode) error {
	err := wholefile.Create(path, mode, wholefile.Bytes(text))
	if errors.Is(err, os.ErrExist) {
		return exists(path)
	}
	return err
}

func exists(path string) error {
	return fmt.Errorf("%s already exists; choose another folder with -o, or remove it", path)
}

// maxRead is the largest document that is read.
const maxRead = 64 << 20

// Read decodes a step's JSON output, which journals name "blob:DIGEST".
func Read[T any](ctx context.Context, store cache.Store, output string) (v T, err error) {
	_, sum, _ := strings.Cut(output, ":")
	id, err := digest.ParseContentID(sum)
	if err != nil {
		return v, err
	}
	return Document[T](ctx, store, id)
}

// Lookup returns the record of an action that a journal names.
func Lookup(ctx context.Context, index cache.Index, action string) (*cache.Record, error) {
	id, err := digest.ParseActionID(action)
	if err != nil {
		return nil, fmt.Errorf("read action: %w", err)
	}
	return index.Lookup(ctx, id)
}

// Document decodes content that is JSON.
func Document[T any](ctx context.Context, store cache.Store, id digest.ContentID) (v T, err error) {
	text, err := cache.Get(ctx, store, id, maxRead)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

// Board is a leaderboard that a step of a run made: its text among the run's outputs, and
// its data, nil if they are gone.
type Board struct {
	Address, Table string
	Data           *aggregate.Board
}

// Boards reads the leaderboards of a run.
func Boards(ctx context.Context, store cache.Store, sum *history.Summary) (list []Board) {
	for i := range sum.Steps {
		if s := &sum.Steps[i]; s.Kind == boardKind {
			b := Board{Address: s.Address}
			_ = json.Unmarshal([]byte(s.Outputs["table"]), &b.Table) // without it no output has it
			b.Data, _ = Read[*aggregate.Board](ctx, store, s.Outputs["board"])
			list = append(list, b)
		}
	}
	return list
}

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
