package sketch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Kind returns the step kind "sketch" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    "sketch",
		Version: "2",
		Doc:     "Draws the sketch of a competition's answers: what the validity of a submission depends on, without any label. With it, agent-run's validity server gives the grader's verdicts.",
		Args:    step.Attrs(arguments{Version: "v1"}, nil),
		Outputs: []step.Output{
			{Name: "sketch", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The sample submission, and the ids of the answers with the rows that are scored, a tree for agent-run."},
		},
		New: func(args step.Args) (step.Step, error) { return newDrawing(args, catalog) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string            `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string            `cty:"version" doc:"Version of the competition."`
	Prepared    prepared          `cty:"prepared" is:"required" doc:"A prepare or checksum step, or an object of public and private trees."`
	Params      map[string]string `cty:"params" doc:"Values for parameters of the competition."`
}

type prepared struct {
	Public  *step.Artifact `cty:"public"`
	Private *step.Artifact `cty:"private"`
}

type drawing struct {
	args       arguments
	def        *competitions.Definition
	params     map[string]cty.Value
	definition digest.ContentID
}

func newDrawing(args step.Args, catalog *competitions.Catalog) (step.Step, error) {
	d := &drawing{}
	if err := args.Decode(&d.args); err != nil {
		return nil, err
	}
	if d.args.Prepared.Public == nil || d.args.Prepared.Private == nil {
		return nil, step.WrongArg("prepared", errors.New("it has no public or private files"))
	}
	var err error
	if d.def, err = conditions.Definition(catalog, d.args.Competition, d.args.Version, args.Conditions); err != nil {
		return nil, err
	}
	d.params = competitions.TextParams(d.args.Params)
	sum, diags := d.def.GradeDigest(d.params)
	if diags.HasErrors() {
		return nil, step.WrongArg("params", diags)
	}
	d.definition = sum
	return d, nil
}

// Authored implements step.Authored.
func (d *drawing) Authored() []string { return d.def.Own("definition") }

// Fingerprint implements step.Fingerprinter.
func (d *drawing) Fingerprint(h *digest.Hasher) error {
	h.Content("definition", d.definition)
	return nil
}

// Run implements step.Step.
func (d *drawing) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	sample, given, err := d.place(ctx, env, d.def.Layout.Sample)
	if err != nil {
		return nil, err
	}
	answers, _, err := d.place(ctx, env, d.def.Layout.Answers)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(grading.WriteSketch(w, d.def, metric.All(), d.params, sample, answers))
	}()
	rows, err := cache.Put(ctx, env.Store, r, cache.Ref{})
	r.CloseWithError(err)
	if err != nil {
		return nil, err
	}
	ref, err := tree.Put(ctx, env.Store, []tree.Entry{tree.NewEntry(grading.SketchRows, rows, false), tree.NewEntry(grading.SketchSample, given, false)})
	if err != nil {
		return nil, fmt.Errorf("sketch %s: %w", d.def.ID, err)
	}
	return cache.Outputs{"sketch": {Ref: ref}}, nil
}

// place puts a prepared file, such as "private/test.csv", into the work folder. It
// returns the path and the content.
func (d *drawing) place(ctx context.Context, env *step.Env, name string) (path string, ref cache.Ref, err error) {
	side, file, _ := strings.Cut(name, "/")
	from := d.args.Prepared.Public.Ref
	if side == "private" {
		from = d.args.Prepared.Private.Ref
	}
	e, err := tree.Find(ctx, env.Store, from, file)
	if err != nil {
		return "", cache.Ref{}, fmt.Errorf("sketch %s: find %s: %w", d.def.ID, name, err)
	}
	path = filepath.Join(env.WorkDir, side+"-"+filepath.Base(file))
	if _, err := tree.Materialise(ctx, env.Store, e.Ref(), path, tree.Options{}); err != nil {
		return "", cache.Ref{}, fmt.Errorf("sketch %s: place %s: %w", d.def.ID, name, err)
	}
	return path, e.Ref(), nil
}
