package config

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"go.yaml.in/yaml/v3"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/bounded"
)

// terraform are functions of Terraform that go-cty's standard library does not have.
var terraform = map[string]function.Function{
	"alltrue":      ofList(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) { return all(list, true), nil }),
	"anytrue":      ofList(cty.Bool, cty.Bool, func(list []cty.Value) (cty.Value, error) { return all(list, false).Not(), nil }),
	"base64decode": ofText(base64Decode, "str"),
	"base64encode": ofText(func(s []string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s[0])), nil }, "str"),
	"basename":     ofText(func(s []string) (string, error) { return path.Base(s[0]), nil }, "path"),
	"dirname":      ofText(func(s []string) (string, error) { return path.Dir(s[0]), nil }, "path"),
	"endswith":     ofTexts(strings.HasSuffix, "str", "suffix"),
	"md5":          ofText(func(s []string) (string, error) { d := md5.Sum([]byte(s[0])); return hex.EncodeToString(d[:]), nil }, "str"),
	"one":          oneFunc,
	"sha1":         ofText(func(s []string) (string, error) { d := sha1.Sum([]byte(s[0])); return hex.EncodeToString(d[:]), nil }, "str"),
	"sha256": ofText(func(s []string) (string, error) {
		d := sha256.Sum256([]byte(s[0]))
		return hex.EncodeToString(d[:]), nil
	}, "str"),
	"sha512": ofText(func(s []string) (string, error) {
		d := sha512.Sum512([]byte(s[0]))
		return hex.EncodeToString(d[:]), nil
	}, "str"),
	"startswith":  ofTexts(strings.HasPrefix, "str", "prefix"),
	"strcontains": ofTexts(strings.Contains, "str", "substr"),
	"sum":         ofList(cty.Number, cty.Number, sum),
	"timecmp":     fixed("", cty.Number, timeCompare, textParam("timestamp_a"), textParam("timestamp_b")),
	"urlencode":   ofText(func(s []string) (string, error) { return url.QueryEscape(s[0]), nil }, "str"),
	"yamldecode":  yamlDecodeFunc,
}

func textParam(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.String}
}

func texter(ty cty.Type, f func(s []string) (cty.Value, error), params []string) function.Function {
	return fixed("", ty, func(args []cty.Value) (cty.Value, error) {
		return f(lists.Of(args, cty.Value.AsString))
	}, lists.Of(params, textParam)...)
}

// ofText makes a string of strings.
func ofText(f func(s []string) (string, error), params ...string) function.Function {
	return texter(cty.String, func(s []string) (cty.Value, error) { text, err := f(s); return cty.StringVal(text), err }, params)
}

// ofTexts compares two strings.
func ofTexts(f func(a, b string) bool, params ...string) function.Function {
	return texter(cty.Bool, func(s []string) (cty.Value, error) { return cty.BoolVal(f(s[0], s[1])), nil }, params)
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

var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.List(cty.DynamicPseudoType)}},
	Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type().ElementType(), nil },
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		switch list := args[0].AsValueSlice(); len(list) {
		case 0:
			return cty.NullVal(ty), nil
		case 1:
			return list[0], nil
		}
		return cty.NilVal, function.NewArgErrorf(0, "it has more than one element")
	},
})

func base64Decode(s []string) (string, error) {
	text, err := base64.StdEncoding.DecodeString(s[0])
	if err != nil {
		return "", function.NewArgErrorf(0, "it is not base64")
	}
	if !utf8.Valid(text) {
		return "", function.NewArgErrorf(0, "it holds bytes that are not UTF-8 text")
	}
	return string(text), nil
}

func timeCompare(args []cty.Value) (cty.Value, error) {
	var times [2]time.Time
	for i := range times {
		var err error
		if times[i], err = time.Parse(time.RFC3339, args[i].AsString()); err != nil {
			return cty.NilVal, function.NewArgErrorf(i, "it must be a time such as 2026-07-01T12:00:00Z")
		}
	}
	return cty.NumberIntVal(int64(times[0].Compare(times[1]))), nil
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
	if err := d.Decode(&doc); err != nil {
		return cty.NilVal, function.NewArgErrorf(0, "it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	size := 0
	err := weigh(&doc, 0, &size)
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
		return cty.NilVal, function.NewArgErrorf(0, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
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
