package step

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
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

// CheckFiles rejects invalid and conflicting paths. Each must be clean and
// relative, "." is the folder itself, and none may be in taken.
func CheckFiles(files map[string]*Artifact, taken ...string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case name == ".":
		case name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || len(name) > 2 && name[:3] == "../":
			return fmt.Errorf("%q is not a clean relative path; write one such as \"src/train.py\"", name)
		case slices.Contains(taken, name):
			return fmt.Errorf("%q is taken; choose another name", name)
		}
	}
	return nil
}

// CheckEnv rejects invalid names of environment variables, and those that mleflow sets itself.
func CheckEnv(env map[string]string, own func(name string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("%q is not a valid name of an environment variable", name)
		case own(name):
			return fmt.Errorf("the environment variable %s is set by mleflow itself; choose another name", name)
		}
	}
	return nil
}

// FilesTree makes one tree of content by path. A tree at "." provides the top
// level. Content with a name replaces content in that tree.
func FilesTree(ctx context.Context, store cache.Building, files map[string]*Artifact) (cache.Ref, error) {
	b := tree.NewBuilder(store)
	named := func(path string) bool { return path != "." && files[path] != nil }
	if all := files["."]; all != nil {
		if all.Ref.Kind != cache.Tree {
			return cache.Ref{}, fmt.Errorf("combine files: %s is a file; give it a name instead of \".\"", all.Name())
		}
		err := tree.Walk(ctx, store, all.Ref, func(path string, e tree.Entry) error {
			switch {
			case named(path):
				return nil
			case e.IsDir():
				return b.AddDir(path)
			}
			return b.Add(path, e.Ref(), e.Type == tree.Executable)
		})
		if err != nil {
			return cache.Ref{}, fmt.Errorf("lay files: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if a := files[name]; named(name) {
			if err := b.Add(name, a.Ref, a.Local != nil && a.Local.Executable()); err != nil {
				return cache.Ref{}, fmt.Errorf("lay files: %w", err)
			}
		}
	}
	return b.Build(ctx, store)
}

// CheckOutputs returns an error unless there are exactly the outputs that the kind
// declares, each of its type; optional ones may be absent. No reader of a record may trust that: it may be that of
// another version, or of a remote cache that others write to.
func (k *Kind) CheckOutputs(outputs cache.Outputs) error {
	for i := range k.Outputs {
		o := &k.Outputs[i]
		v, found := outputs[o.Name]
		switch content := v.Ref.Kind == cache.Blob || v.Ref.Kind == cache.Tree; {
		case !found && o.Optional:
		case !found:
			return fmt.Errorf("it has no output %q", o.Name)
		case o.Type == ArtifactType && (!content || v.Ref.IsZero()):
			return fmt.Errorf("its output %q has no content", o.Name)
		case o.Type != ArtifactType && (!v.Ref.IsZero() || !o.holds(v.JSON)):
			return fmt.Errorf("its output %q is not of type %s", o.Name, o.Type.FriendlyName())
		}
	}
	for name := range outputs {
		if k.Output(name) == nil {
			return fmt.Errorf("it has an output %q, which steps of kind %s do not have", name, k.Name)
		}
	}
	return nil
}

// holds reports whether a JSON text is a value of the output's type. Null is one.
func (o *Output) holds(text []byte) bool {
	text = bytes.TrimSpace(text)
	if !json.Valid(text) {
		return false
	}
	switch first := text[0]; {
	case first == 'n':
		return true
	case o.Type == cty.String:
		return first == '"'
	case o.Type == cty.Bool:
		return first == 't' || first == 'f'
	case o.Type == cty.Number:
		return first == '-' || '0' <= first && first <= '9'
	}
	_, err := ctyjson.Unmarshal(text, o.Type)
	return err == nil
}
