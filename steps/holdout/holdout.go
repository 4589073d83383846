package holdout

import (
	"context"
	"errors"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/engine/step"
)

// Name is the name of the kind.
const Name = "holdout"

// Kind returns the step kind "holdout" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    Name,
		Version: "1",
		Doc:     "Holds out a part of a competition's training data for validation, by the competition's own preparation applied to its public files. The split is of the same kind as the split of the test.",
		Args:    step.Attrs(arguments{Version: "v1"}, nil),
		Outputs: []step.Output{
			{Name: "inputs", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The held-out inputs with their sample submission, without labels, a tree in the layout of the public files."},
			{Name: "private", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The labels of the held-out rows, a tree in the layout of the private files."},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files without the held-out rows and their files, a tree. The test inputs are unchanged."},
			{Name: "split", Type: step.TypeOf[Split](), Secrecy: step.Public, Doc: "The kind of the split, the number of held-out rows, their share of the training data, and the training data that equal held-out rows or files."},
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
	// Share is the part of the training data, in bytes, that was held out.
	Share float64 `json:"share"`
	// Removed are training files that had the content of held-out files, and were removed.
	Removed []string `json:"removed,omitempty"`
	// Notes are findings on held-out rows that the training data give away in part.
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
	sum, diags := s.def.PrepareDigest(s.params)
	if diags.HasErrors() {
		return nil, step.WrongArg("params", diags)
	}
	s.definition = sum
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
func (s *splitting) Run(context.Context, *step.Env) (cache.Outputs, error) {
	return nil, errors.ErrUnsupported
}
