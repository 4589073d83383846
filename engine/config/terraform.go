package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"go.yaml.in/yaml/v3"

	"github.com/mleflow/mleflow/engine/bounded"
)

// terraform are functions of Terraform that go-cty's standard library does not have.
var terraform = map[string]function.Function{
	"alltrue":     ofList(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) { return all(list, true), nil }),
	"anytrue":     ofList(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) { return all(list, false).Not(), nil }),
	"basename":    ofText(path.Base, "path"),
	"dirname":     ofText(path.Dir, "path"),
	"endswith":    ofTexts(strings.HasSuffix, "suffix"),
	"sha256":      ofText(func(s string) string { d := sha256.Sum256([]byte(s)); return hex.EncodeToString(d[:]) }, "str"),
	"startswith":  ofTexts(strings.HasPrefix, "prefix"),
	"strcontains": ofTexts(strings.Contains, "substr"),
	"sum":         ofList(cty.Number, cty.Number, sum),
	"urlencode":   ofText(url.QueryEscape, "str"),
	"yamldecode":  yamlDecodeFunc,
}

func textParam(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.String}
}

// ofText makes a string of a string.
func ofText(f func(s string) string, param string) function.Function {
	return fixed("", cty.String, func(args []cty.Value) (cty.Value, error) { return cty.StringVal(f(args[0].AsString())), nil }, textParam(param))
}

// ofTexts compares two strings.
func ofTexts(f func(a, b string) bool, second string) function.Function {
	compare := func(args []cty.Value) (cty.Value, error) {
		return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
	}
	return fixed("", cty.Bool, compare, textParam("str"), textParam(second))
}

// ofList makes a value of a list, whose elements may be unknown or null.
func ofList(elem, result cty.Type, f func(list []cty.Value) (cty.Value, error)) function.Function {
	return fixed("", result, func(args []cty.Value) (cty.Value, error) { return f(args[0].AsValueSlice()) }, function.Parameter{Name: "list", Type: cty.List(elem)})
}

// all reports whether all elements are want; a null is not.
func all(list []cty.Value, want bool) cty.Value {
	result := cty.True
	for _, v := range list {
		switch {
		case !v.IsKnown():
			result = cty.UnknownVal(cty.Bool)
		case v.IsNull() && want, !v.IsNull() && v.True() != want:
			return cty.False
		}
	}
	return result
}

func sum(list []cty.Value) (cty.Value, error) {
	total := cty.Zero
	for _, v := range list {
		if v.IsKnown() && v.IsNull() {
			return cty.NilVal, function.NewArgErrorf(0, "a null cannot be added")
		}
		total = total.Add(v)
	}
	if len(list) == 0 {
		return cty.NilVal, function.NewArgErrorf(0, "the list is empty; for 0, write sum(concat([0], LIST))")
	}
	return total, nil
}

var yamlDecodeFunc = function.New(&function.Spec{
	Params: []function.Parameter{textParam("str")},
	Type: func(args []cty.Value) (cty.Type, error) {
		if !args[0].IsKnown() {
			return cty.DynamicPseudoType, nil
		}
		v, err := yamlDecode(args[0].AsString())
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return yamlDecode(args[0].AsString()) },
})

// yamlDecode reads one document. A short one may stand for a huge value, because an alias
// repeats what an anchor names.
func yamlDecode(text string) (cty.Value, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	err := d.Decode(&doc)
	if err == nil {
		err = weigh(&doc, 0, new(int))
	}
	if err == nil && d.Decode(new(yaml.Node)) == nil {
		err = errors.New("it holds several documents, but one is read")
	}
	var plain any
	if err == nil {
		err = doc.Decode(&plain)
	}
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(plain)
	}
	if err != nil {
		return cty.NilVal, function.NewArgErrorf(0, "it cannot be read as YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return stdlib.JSONDecode(cty.StringVal(string(encoded)))
}

// weigh adds the size of a node with what its aliases repeat.
func weigh(n *yaml.Node, level int, size *int) error {
	*size += 64 + len(n.Value)
	if *size > 16<<20 || level > bounded.MaxLevels {
		return fmt.Errorf("line %d: the value is larger than 16 MiB, or nested more than %d levels deep; an alias counts as what it repeats", n.Line, bounded.MaxLevels)
	}
	if n.Alias != nil {
		return weigh(n.Alias, level+1, size)
	}
	for i, inner := range n.Content {
		if tag := inner.ShortTag(); n.Kind == yaml.MappingNode && i%2 == 0 && inner.Alias == nil && tag != "!!str" && tag != "!!merge" {
			return fmt.Errorf("line %d: the key %s is not a string; write it in quotes", inner.Line, inner.Value)
		}
		if err := weigh(inner, level+1, size); err != nil {
			return err
		}
	}
	return nil
}
