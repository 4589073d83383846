package draw

import (
	"context"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/prepare"
)

// Name is the name of the kind.
const Name = "draw"

// Kind returns the step kind "draw" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    Name,
		Version: "1",
		Doc:     "Makes a smaller task of a competition's prepared data: some test ids with their rows and files, and as large a part of the training data. Or it makes a task of held-out training data. Results say which, and have classes of their own. Medals and ranks are the whole leaderboard's, which compares only roughly.",
		Args:    step.Attrs(arguments{Version: "v1", Of: conditions.OnTest}, step.OneOf{"of": {conditions.OnTest, conditions.OnValidation}}),
		Outputs: []step.Output{
			{Name: "private", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The private files, including the answers, a tree."},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files, a tree."},
		},
		New: func(args step.Args) (step.Step, error) { return newDrawing(args, catalog) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string   `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string   `cty:"version" doc:"Version of the competition that prepared the data."`
	Prepared    prepared `cty:"prepared" is:"required" doc:"A prepare or checksum step, or an object of public and private trees, such as the outputs task and private of a holdout step."`
	IDs         int64    `cty:"ids" doc:"The number of test ids to draw; 0 is all."`
	Seed        int64    `cty:"seed" doc:"Another seed draws other ids."`
	Of          string   `cty:"of" doc:"What the data are of: the test, or a validation that a holdout step split off."`
}

type prepared struct {
	Public  *step.Artifact `cty:"public"`
	Private *step.Artifact `cty:"private"`
}

type drawing struct {
	args arguments
	def  *competitions.Definition
	// prepare and grade are the digests of the parts of the definition that affect the result.
	prepare, grade digest.ContentID
}

func newDrawing(args step.Args, catalog *competitions.Catalog) (step.Step, error) {
	d := &drawing{}
	if err := args.Decode(&d.args); err != nil {
		return nil, err
	}
	switch {
	case d.args.Prepared.Public == nil || d.args.Prepared.Private == nil:
		return nil, step.WrongArg("prepared", errors.New("it has no public or private files"))
	case d.args.IDs < 0 || d.args.Seed < 0:
		return nil, step.WrongArg("ids", errors.New("ids and seed must not be negative"))
	case d.args.IDs == 0 && d.args.Of == conditions.OnTest:
		return nil, step.WrongArg("ids", errors.New("all ids of the test are the prepared data themselves; write how many to draw"))
	}
	var err error
	if d.def, err = conditions.Definition(catalog, d.args.Competition, d.args.Version, args.Conditions); err != nil {
		return nil, err
	}
	prepare, diags := d.def.PrepareDigest(nil)
	grade, more := d.def.GradeDigest(nil)
	if diags = append(diags, more...); diags.HasErrors() {
		return nil, diags
	}
	d.prepare, d.grade = prepare, grade
	return d, nil
}

// Authored implements step.Authored.
func (d *drawing) Authored() []string { return d.def.Own("definition") }

// Fingerprint implements step.Fingerprinter. The columns of ids are those of the grade block.
func (d *drawing) Fingerprint(h *digest.Hasher) error {
	h.Content("definition", d.prepare)
	h.Content("grading", d.grade)
	h.String("masker version", mask.Version)
	return nil
}

// Conditions implements step.Conditioned.
func (d *drawing) Conditions() []string {
	var set []string
	if d.args.Of == conditions.OnValidation {
		set = append(set, conditions.Data+"="+conditions.OnValidation)
	}
	if d.args.IDs > 0 {
		set = append(set, fmt.Sprintf("%s=micro-%d-%d", conditions.Data, d.args.IDs, d.args.Seed))
	}
	return set
}

// Run implements step.Step.
func (d *drawing) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	public, private := d.args.Prepared.Public.Ref, d.args.Prepared.Private.Ref
	if d.args.IDs == 0 {
		return cache.Outputs{"public": {Ref: public}, "private": {Ref: private}}, nil
	}
	work := &progress.Work{}
	defer env.Follow(work)()
	return prepare.Sunk(ctx, env.Store, func(o mask.Options) error {
		o.Public, o.Private = tree.NewFS(ctx, env.Store, public), tree.NewFS(ctx, env.Store, private)
		o.Work, o.Progress = env.WorkDir, work
		return mask.Draw(ctx, d.def, int(d.args.IDs), uint64(d.args.Seed), o)
	})
}
