package checksum

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
)

// reportType is the type of the output "report"; see Report.
var reportType = cty.Object(map[string]cty.Type{
	"pinned":     cty.Number,
	"matched":    cty.Number,
	"manifest":   cty.String,
	"mismatches": cty.List(cty.Object(map[string]cty.Type{"path": cty.String, "want": cty.String, "got": cty.String})),
})

// preparedType is what the checksum step needs of a prepare step's outputs.
var preparedType = cty.Object(map[string]cty.Type{"public": step.ArtifactType, "private": step.ArtifactType})

// Report says what was compared, the output "report".
type Report struct {
	// Pinned is the number of pins, Matched how many of them match.
	Pinned  int `json:"pinned"`
	Matched int `json:"matched"`
	// Manifest is the digest of the manifest of every prepared file.
	Manifest   string     `json:"manifest"`
	Mismatches []Mismatch `json:"mismatches"`
}

// Mismatch is a file, or the manifest, that is not what its pin says.
type Mismatch struct {
	Path string `json:"path"`
	Want string `json:"want"`
	// Got is the digest found, or "missing".
	Got string `json:"got"`
}

// Kind returns the step kind "checksum" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    "checksum",
		Version: "1",
		Doc: "Compares prepared data with the competition's pins and lets them through. A difference fails the run with the exit status " +
			"of a checksum mismatch, naming every file; without pins there is a warning.",
		Args: []step.Attr{
			{Name: "competition", Type: cty.String, Required: true, Doc: "Identifier of the competition."},
			{Name: "version", Type: cty.String, Default: cty.StringVal("v1"), Doc: "Version of the competition; only v1 has pins."},
			{Name: "prepared", Type: preparedType, Required: true, Doc: "A prepare step, or an object with public and private trees."},
			{Name: "on_mismatch", Type: cty.String, Default: cty.StringVal("fail"), OneOf: []string{"fail", "warn"}, Doc: "What a difference does: fail the step, or warn and let the data through."},
		},
		Outputs: []step.Output{
			{Name: "private", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The private files, unchanged."},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files, unchanged."},
			{Name: "report", Type: reportType, Doc: "How many files are pinned and matched, the manifest's digest, and the mismatches with path, want and got."},
		},
		New: func(args step.Args) (step.Step, error) { return newCheck(args, catalog) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string   `cty:"competition"`
	Version     string   `cty:"version"`
	Prepared    prepared `cty:"prepared"`
	OnMismatch  string   `cty:"on_mismatch"`
}

type prepared struct {
	Public  *step.Artifact `cty:"public"`
	Private *step.Artifact `cty:"private"`
}

type check struct {
	def  *competitions.Definition
	args arguments
}

func newCheck(args step.Args, catalog *competitions.Catalog) (step.Step, error) {
	c := &check{}
	if err := args.Decode(&c.args); err != nil {
		return nil, err
	}
	if c.args.Prepared.Public == nil || c.args.Prepared.Private == nil {
		return nil, step.WrongArg("prepared", errors.New("it lacks its public or private files"))
	}
	def, err := catalog.Get(c.args.Competition)
	if err != nil {
		return nil, step.WrongArg("competition", err)
	}
	c.def, err = def.At(c.args.Version)
	return c, step.WrongArg("version", err)
}

// Fingerprint implements step.Fingerprinter.
func (c *check) Fingerprint(h *digest.Hasher) error {
	pins, err := json.Marshal(c.def.Checksums)
	if err != nil {
		return err
	}
	h.Content("pins", digest.Of(pins))
	return nil
}

// Run implements step.Step.
func (c *check) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	public, private := c.args.Prepared.Public.Ref, c.args.Prepared.Private.Ref
	manifest, err := Manifest(ctx, env.Store, public, private)
	if err != nil {
		return nil, fmt.Errorf("checksum %s: %w", c.def.ID, err)
	}
	report := Report{Manifest: manifest.ID.String(), Mismatches: []Mismatch{}}
	if err := c.compareFiles(ctx, env, manifest, &report); err != nil {
		return nil, fmt.Errorf("checksum %s: %w", c.def.ID, err)
	}
	c.compareManifest(&report)
	if err := c.judge(env, report); err != nil {
		return nil, err
	}
	text, err := json.Marshal(report)
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	return cache.Outputs{"public": {Ref: public}, "private": {Ref: private}, "report": {JSON: text}}, nil
}

// Manifest stores the folder that holds the public and private files and
// returns it; its ID is the manifest's digest.
func Manifest(ctx context.Context, store cache.Store, public, private cache.Ref) (cache.Ref, error) {
	var b tree.Builder
	for name, ref := range map[string]cache.Ref{"public": public, "private": private} {
		if ref.Kind != cache.Tree {
			return cache.Ref{}, fmt.Errorf("the %s files are a single file, not a tree", name)
		}
		if err := b.Add(name, ref, false); err != nil {
			return cache.Ref{}, err
		}
	}
	return b.Build(ctx, store)
}

func (c *check) compareManifest(report *Report) {
	want := c.def.Checksums.Manifest
	if want == "" {
		return
	}
	report.Pinned++
	if want == report.Manifest {
		report.Matched++
		return
	}
	report.Mismatches = append(report.Mismatches, Mismatch{"manifest of all files", want, report.Manifest})
}

// judge turns mismatches into a failure or a warning.
func (c *check) judge(env *step.Env, report Report) error {
	if report.Pinned == 0 {
		env.Warn(fmt.Sprintf("competition %s %s has no pins: nothing was compared", c.def.ID, c.def.Version))
	}
	if len(report.Mismatches) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d of %d pins do not match:", c.def.ID, len(report.Mismatches), report.Pinned)
	for _, m := range report.Mismatches {
		fmt.Fprintf(&text, "\n  %s: want %s, got %s", m.Path, m.Want, m.Got)
	}
	if c.args.OnMismatch == "warn" {
		env.Warn(text.String())
		return nil
	}
	return step.Mismatch(fmt.Errorf("checksum %s", text.String()))
}
