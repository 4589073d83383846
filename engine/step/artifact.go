package step

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
)

// Artifact is content that passes between steps: a blob or a tree. It is opaque
// in the language. While the pipeline is expanded, only its origin is known.
// When a step runs, Ref identifies the content.
type Artifact struct {
	// From and Output name the producing instance and its output. They are
	// empty for a local file.
	From, Output string
	// Producer is the index of the producing instance in its pipeline.
	Producer int
	// Ref is the content, or zero while it is unknown.
	Ref cache.Ref
	// Expected is the size that its step expects while there is no Ref, or 0 if
	// it is unknown. It is used only for estimates.
	Expected int64
	// Conditions are the conditions under which it was made; see Conditioned.
	Conditions []string
	// Local is set for a file or folder of the pipeline. Its Ref is known from
	// the start.
	Local Local
}

// Local is a file or folder of the pipeline.
type Local interface {
	// Path is the path relative to the pipeline's folder.
	Path() string
	// Executable reports whether the owner may execute a file.
	Executable() bool
	// Text returns the content of a file as a string.
	Text() (string, error)
	// Store puts the content into the store. It fails if the content does not
	// match the artifact's Ref any more.
	Store(ctx context.Context, store cache.Building) error
}

// Name describes the artifact's origin for messages.
func (a *Artifact) Name() string {
	if a.Local != nil {
		return a.Local.Path()
	}
	return fmt.Sprintf("output %s of %s", a.Output, a.From)
}

// ArtifactType is the type of content in the language. It converts only to a
// string, and only for a local file.
var ArtifactType = cty.CapsuleWithOps("artifact", reflect.TypeFor[Artifact](), &cty.CapsuleOps{
	ConversionFrom: func(want cty.Type) func(any, cty.Path) (cty.Value, error) {
		if want != cty.String {
			return nil
		}
		return func(v any, _ cty.Path) (cty.Value, error) { return textOf(v.(*Artifact)) }
	},
})

func textOf(a *Artifact) (cty.Value, error) {
	if a.Local == nil {
		return cty.NilVal, errors.New("a string is needed, but the content of a step's output cannot be read as one here")
	}
	text, err := a.Local.Text()
	if err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(text), nil
}

// NewArtifact wraps an artifact as a value of the language.
func NewArtifact(a *Artifact) cty.Value { return cty.CapsuleVal(ArtifactType, a) }
