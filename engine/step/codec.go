package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache"
)

// encodedArgs are arguments in JSON. Null arguments are omitted.
type encodedArgs struct {
	Values     map[string]json.RawMessage            `json:"arguments"`
	Blocks     map[string]map[string]json.RawMessage `json:"blocks,omitempty"`
	Limits     Limits                                `json:"limits"`
	Conditions []string                              `json:"conditions,omitempty"`
}

// EncodeArgs encodes arguments as JSON for DecodeArgs, on this or another
// machine. Content is encoded as its Ref. Its bytes must be transferred
// separately; see Refs. Secrets stay references. Every artifact must be known.
func (k *Kind) EncodeArgs(args Args) ([]byte, error) {
	e := encodedArgs{Blocks: map[string]map[string]json.RawMessage{}, Limits: args.Limits, Conditions: args.Conditions}
	var err error
	if e.Values, err = encodeAttrs(k.Args, args.Get); err != nil {
		return nil, err
	}
	for _, b := range k.Blocks {
		v := args.Get(b.Name)
		if v.IsNull() {
			continue
		}
		if e.Blocks[b.Name], err = encodeAttrs(b.Args, v.GetAttr); err != nil {
			return nil, fmt.Errorf("block %s: %w", b.Name, err)
		}
	}
	return json.Marshal(e)
}

func encodeAttrs(attrs []Attr, get func(name string) cty.Value) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage, len(attrs))
	for i := range attrs {
		a := &attrs[i]
		v := get(a.Name)
		if v.IsNull() {
			continue
		}
		data, err := ctyjson.Marshal(v, a.Type)
		if err != nil {
			return nil, fmt.Errorf("encode argument %s: %w", a.Name, err)
		}
		all[a.Name] = data
	}
	return all, nil
}

// DecodeArgs parses the output of EncodeArgs of the same version of the kind.
// An argument or block that the kind does not have is an error.
func (k *Kind) DecodeArgs(data []byte) (Args, error) {
	var e encodedArgs
	if err := json.Unmarshal(data, &e); err != nil {
		return Args{}, fmt.Errorf("decode arguments: %w", err)
	}
	object, err := decodeAttrs(k.Args, e.Values)
	if err != nil {
		return Args{}, err
	}
	for i := range k.Blocks {
		b := &k.Blocks[i]
		given, ok := e.Blocks[b.Name]
		delete(e.Blocks, b.Name)
		if !ok {
			object[b.Name] = cty.NullVal(b.Type())
			continue
		}
		inner, err := decodeAttrs(b.Args, given)
		if err != nil {
			return Args{}, fmt.Errorf("block %s: %w", b.Name, err)
		}
		object[b.Name] = cty.ObjectVal(inner)
	}
	for name := range e.Blocks {
		return Args{}, fmt.Errorf("decode arguments: step kind %s has no block %q", k.Name, name)
	}
	args := ArgsOf(cty.ObjectVal(object))
	args.Limits, args.Conditions = e.Limits, e.Conditions
	return args, nil
}

func decodeAttrs(attrs []Attr, given map[string]json.RawMessage) (map[string]cty.Value, error) {
	all := make(map[string]cty.Value, len(attrs))
	found := 0
	for i := range attrs {
		a := &attrs[i]
		data, ok := given[a.Name]
		switch {
		case ok:
			found++
			v, err := ctyjson.Unmarshal(data, a.Type)
			if err != nil {
				return nil, fmt.Errorf("decode argument %s: %w", a.Name, err)
			}
			all[a.Name] = v
		case a.Type == ArtifactType:
			all[a.Name] = cty.NullVal(cty.DynamicPseudoType) // as Args.Decode expects
		default:
			all[a.Name] = cty.NullVal(a.Type)
		}
	}
	if found == len(given) {
		return all, nil
	}
	for name := range given {
		if _, known := all[name]; !known {
			return nil, fmt.Errorf("decode arguments: the step kind has no argument %q", name)
		}
	}
	return all, nil
}

// artifactJSON is the encoded form of an artifact.
type artifactJSON struct {
	From       string    `json:"from,omitempty"`
	Output     string    `json:"output,omitempty"`
	Ref        cache.Ref `json:"ref"`
	Conditions []string  `json:"conditions,omitempty"`
	// Path and Executable describe a local file.
	Path       string `json:"path,omitempty"`
	Executable bool   `json:"executable,omitempty"`
}

// MarshalJSON implements json.Marshaler; see Kind.EncodeArgs.
func (a *Artifact) MarshalJSON() ([]byte, error) {
	if a.Ref.IsZero() {
		return nil, fmt.Errorf("%s is not known", a.Name())
	}
	j := artifactJSON{From: a.From, Output: a.Output, Ref: a.Ref, Conditions: a.Conditions}
	if a.Local != nil {
		j.Path, j.Executable = a.Local.Path(), a.Local.Executable()
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler. The content of a local file must
// be in the cache.
func (a *Artifact) UnmarshalJSON(data []byte) error {
	var j artifactJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if j.Ref.Kind != cache.Blob && j.Ref.Kind != cache.Tree || j.Ref.IsZero() || j.Ref.Size < 0 || j.Ref.Files < 0 {
		return errors.New("an artifact names no content")
	}
	*a = Artifact{From: j.From, Output: j.Output, Ref: j.Ref, Conditions: j.Conditions}
	if j.Path != "" {
		a.Local = carried{j.Path, j.Executable}
	}
	return nil
}

// carried is a local file of a pipeline that was loaded on another machine.
type carried struct {
	path       string
	executable bool
}

func (c carried) Path() string                                { return c.path }
func (c carried) Executable() bool                            { return c.executable }
func (c carried) Store(context.Context, cache.Building) error { return nil }
func (c carried) Text() (string, error) {
	return "", fmt.Errorf("%s is a file of another machine, of which only the content is here", c.path)
}

// Refs returns the content in the arguments, each reference once, in order.
func (a Args) Refs() (refs []cache.Ref) {
	seen := map[cache.Ref]bool{}
	_ = a.EachArtifact(func(c *Artifact) error {
		if !c.Ref.IsZero() && !seen[c.Ref] {
			seen[c.Ref] = true
			refs = append(refs, c.Ref)
		}
		return nil
	})
	return refs
}

// RunBudgets returns the names of the models in the arguments with a budget for
// all attempts of an apply together.
func (a Args) RunBudgets() (names []string) {
	for name, b := range a.ModelBudgets() {
		if b.Run != (ModelBudget{}) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Budgets are those of a model: for one attempt, and for all attempts of an apply
// together.
type Budgets struct{ Attempt, Run ModelBudget }

// ModelBudgets returns the budgets of the models in the arguments by name.
func (a Args) ModelBudgets() map[string]Budgets {
	all := map[string]Budgets{}
	_ = cty.Walk(a.Object(), func(_ cty.Path, v cty.Value) (bool, error) {
		if !v.Type().Equals(ModelType) || v.IsNull() || !v.IsKnown() {
			return true, nil
		}
		var b Budgets
		_ = gocty.FromCtyValue(v.GetAttr("budget"), &b.Attempt) // none if it is not known
		_ = gocty.FromCtyValue(v.GetAttr("run_budget"), &b.Run)
		all[v.GetAttr("name").AsString()] = b
		return false, nil
	})
	return all
}

// EachArtifact calls fn for all content in the arguments until it fails.
func (a Args) EachArtifact(fn func(*Artifact) error) error {
	return cty.Walk(a.Object(), func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() != ArtifactType || v.IsNull() {
			return true, nil
		}
		return false, fn(v.EncapsulatedValue().(*Artifact))
	})
}
