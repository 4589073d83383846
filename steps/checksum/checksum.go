package checksum

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/engine/step"
)

// Kind returns the step kind "checksum" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    "checksum",
		Version: "3",
		Doc:     "Compares prepared data with the competition's pins and passes them on. A difference fails the run with exit status 3 and names every wrong, missing and unexpected file, in tables row and column. A lock file without pins is a warning, a missing one an error.",
		Args:    step.Attrs(arguments{Version: "v1", OnMismatch: "fail"}, step.OneOf{"on_mismatch": {"fail", "warn"}}),
		Outputs: []step.Output{
			{Name: "private", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The private files, unchanged."},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files, unchanged."},
			{Name: "report", Type: step.TypeOf[pins.Report](), Doc: "The numbers of pins and matches, the manifest's digest, the numbers of wrong, missing and unexpected files, and the first mismatches with digests, sizes and explanations."},
			{Name: "verdict", Type: cty.String, Secrecy: step.Public, Doc: `verified, unpinned (nothing to compare with), or mismatch (with on_mismatch = "warn").`},
		},
		New: func(args step.Args) (step.Step, error) { return newCheck(args, catalog) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string    `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string    `cty:"version" doc:"Version of the competition. Pins are of v1; a version prepared otherwise has none."`
	Prepared    prepared  `cty:"prepared" is:"required" doc:"A prepare step, or an object of public and private trees."`
	OnMismatch  string    `cty:"on_mismatch" doc:"Fail the step, or warn and accept the data. In the key, so that accepted data are never used under \"fail\"."`
	Expected    *prepared `cty:"expected" doc:"Correct data, of the form of prepared, to explain differences, without effect on the verdict."`
	ExpectedDir *string   `cty:"expected_dir" doc:"A correct folder with public and private, to explain differences, without effect on the verdict; relative to the working directory. Only its name is in the key."`
}

// prepared are the outputs of a prepare step that the checksum step needs.
type prepared struct {
	Public  *step.Artifact `cty:"public"`
	Private *step.Artifact `cty:"private"`
}

func (p prepared) lacks() bool { return p.Public == nil || p.Private == nil }

type check struct {
	def  *competitions.Definition
	args arguments
}

func newCheck(args step.Args, catalog *competitions.Catalog) (step.Step, error) {
	c := &check{}
	if err := args.Decode(&c.args); err != nil {
		return nil, err
	}
	switch e := c.args.Expected; {
	case c.args.Prepared.lacks():
		return nil, step.WrongArg("prepared", errors.New("it has no public or private files"))
	case e != nil && e.lacks():
		return nil, step.WrongArg("expected", errors.New("it has no public or private files"))
	case e != nil && c.args.ExpectedDir != nil:
		return nil, step.WrongArg("expected_dir", errors.New("give expected or expected_dir, not both"))
	}
	var err error
	if c.def, err = conditions.Definition(catalog, c.args.Competition, c.args.Version, args.Conditions); err != nil {
		return nil, err
	}
	return c, step.WrongArg("competition", c.def.LockMissing())
}

// Authored implements step.Authored.
func (c *check) Authored() []string { return c.def.Own("pins", "manifest file") }

// Fingerprint implements step.Fingerprinter.
func (c *check) Fingerprint(h *digest.Hasher) error {
	pins, err := json.Marshal(c.def.Checksums)
	if err != nil {
		return err
	}
	h.Content("pins", digest.Of(pins))
	known, err := fs.ReadFile(c.def.Folder(), c.def.ManifestName())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	h.Content("manifest file", digest.Of(known)) // the report's explanations depend on it
	return err
}

// Run implements step.Step.
func (c *check) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	public, private := c.args.Prepared.Public.Ref, c.args.Prepared.Private.Ref
	report, err := c.verify(ctx, env, public, private)
	if err != nil {
		return nil, fmt.Errorf("checksum %s: %w", c.def.ID, err)
	}
	if err := c.judge(env, report); err != nil {
		return nil, err
	}
	out := cache.Outputs{"public": {Ref: public}, "private": {Ref: private}}
	return out, out.Encode(map[string]any{"report": report, "verdict": report.Verdict})
}

func (c *check) verify(ctx context.Context, env *step.Env, public, private cache.Ref) (pins.Report, error) {
	data, err := pins.InStore(ctx, env.Store, public, private)
	if err != nil {
		return pins.Report{}, err
	}
	expected, err := c.expected(env)
	if err != nil {
		return pins.Report{}, err
	}
	work := new(progress.Work)
	defer env.Follow(work)()
	return pins.Run(ctx, pins.Request{Definition: c.def, Data: data, Expected: expected, Store: env.Store, Work: work})
}

// expected returns a function that opens the data for explaining differences, or nil if
// there are none.
func (c *check) expected(env *step.Env) (func(context.Context) (*pins.Data, error), error) {
	if e := c.args.Expected; e != nil {
		return func(ctx context.Context) (*pins.Data, error) {
			return pins.InStore(ctx, env.Store, e.Public.Ref, e.Private.Ref)
		}, nil
	}
	if c.args.ExpectedDir == nil {
		return nil, nil
	}
	dir := *c.args.ExpectedDir
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("expected_dir: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("expected_dir: %s is not a folder", dir)
	}
	return func(context.Context) (*pins.Data, error) { return pins.OnDisk(os.DirFS(dir), c.def), nil }, nil
}

// most is the maximum number of files that an error lists; the report has all of them.
const most = 20

// judge turns mismatches into a failure or a warning.
func (c *check) judge(env *step.Env, report pins.Report) error {
	if report.Verdict == pins.Unpinned && !c.def.Rehearsal {
		env.Warn(fmt.Sprintf("competition %s %s has no pins, so nothing was compared", c.def.ID, c.def.Version))
	}
	if report.Verdict != pins.Differs {
		return nil
	}
	text := fmt.Sprintf("%s: the files do not match the pins (%s):\n  %s", c.def.ID, report.Counts(),
		strings.Join(report.Lines(most), "\n  "))
	if c.args.OnMismatch == "warn" {
		env.Warn(text)
		return nil
	}
	return step.Mismatch(fmt.Errorf("checksum %s", text))
}
