package holdout

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/steps/prepare"
)

// Kind returns the step kind "holdout" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    conditions.HoldoutKind,
		Version: "2",
		Doc:     "Holds out a part of a competition's training data for validation, by the competition's own preparation applied to its public files. The split is of the same kind as the split of the test.",
		Args:    step.Attrs(arguments{Version: "v1"}, nil),
		Outputs: []step.Output{
			{Name: "inputs", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The held-out inputs with their sample submission, without labels, a tree in the layout of the public files."},
			{Name: "private", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The labels of the held-out rows, a tree in the layout of the private files."},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files without the held-out rows and their files, a tree. The test inputs are unchanged."},
			{Name: "split", Type: step.TypeOf[Split](), Secrecy: step.Public, Doc: "The kind of the split, the number of held-out rows, their share of the training data, and the training data that equal held-out rows or files."},
			{Name: "task", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files with the held-out inputs in place of those of the test, a tree: with private, a task of its own for a draw step."},
		},
		New: func(args step.Args) (step.Step, error) { return newSplitting(args, catalog) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string            `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string            `cty:"version" doc:"Version of the competition that prepared the data."`
	Data        *step.Artifact    `cty:"data" is:"required" doc:"The public files of a prepare or checksum step, a tree."`
	Params      map[string]string `cty:"params" doc:"Values for parameters of the competition, as the prepare step has them."`
}

// Split says what was held out.
type Split struct {
	// Kind is random, grouped, stratified, time or own: see prep.SplitOf.
	Kind string `json:"kind"`
	// Rows are the rows of the held-out answers, and Files the files of the held-out inputs.
	Rows  int64 `json:"rows"`
	Files int64 `json:"files"`
	// Share is by how much the training data have become smaller, as a part of their bytes.
	Share float64 `json:"share"`
	// Notes are the findings of the lint on what an agent gets: held-out rows and files
	// that are among the training data, and columns that say something about labels.
	Notes []string `json:"notes,omitempty"`
}

type splitting struct {
	def        *competitions.Definition
	data       *step.Artifact
	params     map[string]cty.Value
	definition digest.ContentID
}

func newSplitting(args step.Args, catalog *competitions.Catalog) (step.Step, error) {
	var a arguments
	if err := args.Decode(&a); err != nil {
		return nil, err
	}
	s := &splitting{data: a.Data, params: competitions.TextParams(a.Params)}
	var err error
	if s.def, err = conditions.Definition(catalog, a.Competition, a.Version, args.Conditions); err != nil {
		return nil, err
	}
	sum, diags := s.def.HoldoutDigest(s.params)
	if diags.HasErrors() {
		return nil, step.WrongArg("params", diags)
	}
	s.definition = sum
	if s.def.Holdout().PreparedByPython() {
		return nil, step.WrongArg("competition", fmt.Errorf("%s is prepared by Python, which does not split the public files once more: add a block validation with a block prepare to its definition", s.def.ID))
	}
	return s, nil
}

// Authored implements step.Authored.
func (s *splitting) Authored() []string { return s.def.Own("definition") }

// Fingerprint implements step.Fingerprinter.
func (s *splitting) Fingerprint(h *digest.Hasher) error {
	h.Content("definition", s.definition)
	h.String("preparer version", prep.Version)
	return nil
}

// Run implements step.Step.
func (s *splitting) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	out, split, found, err := s.split(ctx, env)
	for _, f := range found {
		if slices.Contains(direct, f.Rule) && f.Severity == kit.Error {
			err = cmp.Or(err, fmt.Errorf("the files for agents have held-out labels: %s", f.Message))
		}
		split.Notes = append(split.Notes, f.Message)
		env.Note("%s: %s", f.Rule, f.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("hold out of %s: %w", s.def.ID, err)
	}
	return out, out.Encode(map[string]any{"split": split})
}

// Lint holds out rows of a competition's public files, and returns what the lint finds in the
// files that an agent with a validation score gets: labels of held-out rows, and held-out
// rows and files among the training data.
func Lint(ctx context.Context, env *step.Env, def *competitions.Definition, public cache.Ref) ([]kit.Finding, error) {
	s := &splitting{def: def, data: &step.Artifact{Ref: public}}
	_, _, found, err := s.split(ctx, env)
	for i := range found {
		found[i].Message = "with a validation score, agents get: " + found[i].Message
	}
	return found, err
}

func (s *splitting) split(ctx context.Context, env *step.Env) (_ cache.Outputs, split Split, found []kit.Finding, err error) {
	inner := s.def.Holdout()
	made, err := prepare.Into(ctx, env, inner, s.data.Ref, prep.Options{Params: s.params, Unpacked: true})
	switch {
	case ctx.Err() != nil:
		return nil, split, nil, err
	case err != nil:
		return nil, split, nil, fmt.Errorf("%w. The raw data here are the competition's public files; where they lack a file, write a validation block in the definition: see docs/holdout.md", err)
	}
	o := &overlay{ctx: ctx, store: env.Store, public: tree.NewBuilder(env.Store), inputs: tree.NewBuilder(env.Store), all: tree.NewBuilder(env.Store)}
	if err := o.lay(s.def, inner, s.params, s.data.Ref, made["public"].Ref); err != nil {
		return nil, split, nil, err
	}
	out := cache.Outputs{"private": made["private"]}
	for name, b := range map[string]*tree.Builder{"public": o.public, "inputs": o.inputs, "task": o.all} {
		ref, err := b.Build(ctx, env.Store)
		if err != nil {
			return nil, split, nil, err
		}
		out[name] = cache.Value{Ref: ref}
	}
	split = Split{Kind: prep.SplitOf(inner).Kind, Files: out["inputs"].Ref.Files}
	if o.before > 0 {
		split.Share = max(0, float64(o.before-o.after)/float64(o.before))
	}
	split.Rows, found, err = s.check(ctx, env, inner, out["task"].Ref, made["private"].Ref)
	return out, split, found, err
}

// overlay lays the public files of the second preparation over those of the first.
type overlay struct {
	ctx   context.Context
	store cache.Building
	// public are the files without the held-out ones, inputs the held-out inputs, and all
	// both.
	public, inputs, all *tree.Builder
	// before and after are the bytes of the training data.
	before, after int64
}

func (o *overlay) lay(outer, inner *competitions.Definition, params map[string]cty.Value, given, made cache.Ref) error {
	was, diags := prep.SidesOf(outer, params)
	if diags.HasErrors() {
		return diags
	}
	is, diags := prep.SidesOf(inner, params)
	if diags.HasErrors() {
		return diags
	}
	kept := map[string]tree.Entry{}
	if err := tree.Walk(o.ctx, o.store, given, func(path string, e tree.Entry) error {
		if was.Training(path) {
			o.before += sizeOf(e)
			return nil
		}
		kept[path] = e
		return add(o.public, path, e)
	}); err != nil {
		return err
	}
	if err := tree.Walk(o.ctx, o.store, made, func(path string, e tree.Entry) error {
		old, same := kept[path]
		delete(kept, path)
		if is.Training(path) {
			o.after += sizeOf(e)
			if same && !e.IsDir() {
				return fmt.Errorf("%s is training data that the second preparation writes, but not of the first. Write validation { training = [%q] } in the definition", path, path)
			}
			return cmp.Or(add(o.public, path, e), add(o.all, path, e))
		}
		sample := "public/"+path == inner.Layout.Sample
		if !e.IsDir() && (sample || !same || old.Ref() != e.Ref()) {
			if err := add(o.inputs, path, e); err != nil {
				return err
			}
		}
		return add(o.all, path, e)
	}); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(kept)) {
		if err := add(o.all, path, kept[path]); err != nil {
			return err
		}
	}
	return nil
}

func add(b *tree.Builder, path string, e tree.Entry) error {
	if e.IsDir() {
		return b.AddDir(path)
	}
	return b.Add(path, e.Ref(), false)
}

// sizeOf returns the size of a file.
func sizeOf(e tree.Entry) int64 {
	if e.IsDir() {
		return 0
	}
	return e.Size
}

// direct are the rules whose findings are labels where an agent can read them, indirect
// those whose findings say something about labels.
var direct, indirect = []string{"reachable-answers", "record-answers", "prepared-file"}, []string{"determined-answers", "duplicates"}

// check looks for labels among the files that an agent gets. It returns the number of
// held-out rows, and what the files say about their labels.
func (s *splitting) check(ctx context.Context, env *step.Env, def *competitions.Definition, public, private cache.Ref) (rows int64, found []kit.Finding, err error) {
	ref, err := tree.Put(ctx, env.Store, []tree.Entry{tree.NewEntry("private", private, false), tree.NewEntry("public", public, false)})
	if err != nil {
		return 0, nil, err
	}
	folder := tree.NewFS(ctx, env.Store, ref)
	all, err := kit.LintPrepared(def, metric.All(), folder)
	if err != nil {
		return 0, nil, err
	}
	found = lists.Where(all, func(f kit.Finding) bool { return slices.Contains(direct, f.Rule) || slices.Contains(indirect, f.Rule) })
	rows, err = countRows(folder, def.Layout.Answers)
	return rows, found, err
}

// countRows counts the answers: the rows of a CSV file, or the lines of another one.
func countRows(folder fs.FS, name string) (int64, error) {
	f, err := folder.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if path.Ext(name) == ".csv" {
		t, err := table.ReadCSV(f, table.ReadOptions{})
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return int64(t.Len()), nil
	}
	rows := int64(0)
	lines := bufio.NewReader(f)
	for {
		_, err := lines.ReadSlice('\n')
		switch {
		case err == nil:
			rows++
		case errors.Is(err, io.EOF):
			return rows, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
}
