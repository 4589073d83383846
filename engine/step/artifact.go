package step

import (
	"reflect"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
)

// Artifact is content that passes between steps: a blob or a tree. In the
// language it is opaque. While the pipeline is expanded it only says where it
// comes from; when a step runs, Ref says what it is.
type Artifact struct {
	// From and Output name the producing instance and its output.
	From, Output string
	// Ref is the content; zero until it is known.
	Ref cache.Ref
	// Expected is how large its step expects it to be while there is no Ref,
	// 0 when that cannot be told. It only serves estimates.
	Expected int64
	// Conditions are those that it was obtained under; see Conditioned.
	Conditions []string
}

// ArtifactType is the type of content in the language.
var ArtifactType = cty.Capsule("artifact", reflect.TypeFor[Artifact]())

// NewArtifact wraps an artifact as a value of the language.
func NewArtifact(a *Artifact) cty.Value { return cty.CapsuleVal(ArtifactType, a) }
