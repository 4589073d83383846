package step

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache"
)

// CheckOutputs returns an error unless there are exactly the outputs that the kind
// declares, each of its type. No reader of a record may trust that: it may be that of
// another version, or of a remote cache that others write to.
func (k *Kind) CheckOutputs(outputs cache.Outputs) error {
	for i := range k.Outputs {
		o := &k.Outputs[i]
		v, found := outputs[o.Name]
		switch content := v.Ref.Kind == cache.Blob || v.Ref.Kind == cache.Tree; {
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
