package step

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
)

// Artifact is content that passes between steps: a blob or a tree. In the
// language it is opaque. While the pipeline is expanded it only says where it
// comes from; when a step runs, Ref says what it is.
type Artifact struct {
	// From and Output name the producing instance and its output; empty for a
	// local file.
	From, Output string
	// Ref is the content; zero until it is known.
	Ref cache.Ref
	// Expected is the size that its step expects while there is no Ref, 0 if
	// unknown. It is only used for estimates.
	Expected int64
	// Conditions are the conditions under which it was made; see Conditioned.
	Conditions []string
	// Local is set for a file or folder of the pipeline, whose Ref is known
	// from the start.
	Local Local
}

// Local is a file or folder of the pipeline.
type Local interface {
	// Path is relative to the pipeline's folder.
	Path() string
	// Executable says that the owner may execute a file.
	Executable() bool
	// Text returns the content of a file as a string.
	Text() (string, error)
	// Store puts the content into the store. It fails if the content no longer
	// matches the artifact's Ref.
	Store(ctx context.Context, store cache.Building) error
}

// Name says where the artifact comes from, for messages.
func (a *Artifact) Name() string {
	if a.Local != nil {
		return a.Local.Path()
	}
	return fmt.Sprintf("output %s of %s", a.Output, a.From)
}

// ArtifactType is the type of content in the language. A local file converts
// to a string; nothing else does.
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
