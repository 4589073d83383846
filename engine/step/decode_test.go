package step

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

type decoded struct {
	Text  string               `cty:"text"`
	Bool  bool                 `cty:"bool"`
	Count int                  `cty:"count"`
	Maybe *string              `cty:"maybe"`
	List  []string             `cty:"list"`
	Map   map[string]string    `cty:"map"`
	Tree  *Artifact            `cty:"tree"`
	Trees map[string]*Artifact `cty:"trees"`
	Many  []*Artifact          `cty:"many"`
	Block *struct {
		Size float64 `cty:"size"`
	} `cty:"block"`
}

// objects are arguments of that struct, some of them wrong.
func objects() map[string]map[string]cty.Value {
	plain := func(change map[string]cty.Value) map[string]cty.Value {
		all := map[string]cty.Value{
			"text": cty.StringVal("a<b>\u2028é"), "bool": cty.True, "count": cty.NumberIntVal(3), "maybe": cty.StringVal("x"),
			"list": cty.ListVal([]cty.Value{cty.StringVal(""), cty.StringVal("b")}),
			"map":  cty.MapVal(map[string]cty.Value{"é": cty.StringVal("1"), "a": cty.StringVal("2")}),
			"tree": NewArtifact(&Artifact{From: "x"}), "trees": cty.MapVal(map[string]cty.Value{"t": NewArtifact(&Artifact{From: "y"})}),
			"many":  cty.ListVal([]cty.Value{NewArtifact(&Artifact{From: "z"})}),
			"block": cty.ObjectVal(map[string]cty.Value{"size": cty.NumberFloatVal(1.5)}),
		}
		for name, v := range change {
			all[name] = v
			if v == cty.NilVal {
				delete(all, name)
			}
		}
		return all
	}
	strings, texts := cty.List(cty.String), cty.Map(cty.String)
	return map[string]map[string]cty.Value{
		"plain":        plain(nil),
		"nulls":        plain(map[string]cty.Value{"maybe": cty.NullVal(cty.String), "list": cty.NullVal(strings), "map": cty.NullVal(texts), "tree": cty.NullVal(cty.DynamicPseudoType), "block": cty.NullVal(cty.Object(map[string]cty.Type{"size": cty.Number}))}),
		"null content": plain(map[string]cty.Value{"tree": cty.NullVal(ArtifactType)}),
		"wrong block":  plain(map[string]cty.Value{"block": cty.ObjectVal(map[string]cty.Value{"size": cty.True})}),
		"empty":        plain(map[string]cty.Value{"list": cty.ListValEmpty(cty.String), "map": cty.MapValEmpty(cty.String), "trees": cty.MapValEmpty(ArtifactType), "many": cty.ListValEmpty(ArtifactType)}),
		"null element": plain(map[string]cty.Value{"list": cty.ListVal([]cty.Value{cty.NullVal(cty.String)})}),
		"null text":    plain(map[string]cty.Value{"text": cty.NullVal(cty.String)}),
		"unknown":      plain(map[string]cty.Value{"list": cty.UnknownVal(strings)}),
		"tuple":        plain(map[string]cty.Value{"list": cty.TupleVal([]cty.Value{cty.StringVal("a")})}),
		"wrong type":   plain(map[string]cty.Value{"bool": cty.StringVal("maybe")}),
		"missing":      plain(map[string]cty.Value{"text": cty.NilVal}),
		"other":        plain(map[string]cty.Value{"text": cty.NilVal, "texts": cty.StringVal("a")}),
		"more":         plain(map[string]cty.Value{"more": cty.StringVal("a")}),
	}
}

// untypedNulls replaces null content in arguments and blocks by untyped nulls,
// because gocty v1.19 rejects a null capsule for a pointer. A value without
// such nulls is returned unchanged.
func untypedNulls(v cty.Value) cty.Value {
	if v.IsNull() || !v.Type().IsObjectType() {
		return v
	}
	var changed map[string]cty.Value
	for name, ty := range v.Type().AttributeTypes() {
		if !ty.IsCapsuleType() && !ty.IsObjectType() {
			continue
		}
		a := v.GetAttr(name)
		switch {
		case ty.IsCapsuleType() && a.IsNull():
			a = cty.NullVal(cty.DynamicPseudoType)
		case ty.IsObjectType():
			inner := untypedNulls(a)
			if inner.Type().Equals(ty) {
				continue
			}
			a = inner
		default:
			continue
		}
		if changed == nil {
			changed = v.AsValueMap()
		}
		changed[name] = a
	}
	if changed == nil {
		return v
	}
	return cty.ObjectVal(changed)
}

func TestDecodeIsGocty(t *testing.T) {
	for name, attrs := range objects() {
		object := cty.ObjectVal(attrs)
		var got, want decoded
		err, wantErr := ArgsOf(object).Decode(&got), gocty.FromCtyValue(untypedNulls(object), &want)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != "decode arguments: "+wantErr.Error() {
			t.Errorf("%s: error %v, want %v", name, err, wantErr)
		}
		if wantErr == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: (-want +got)\n%s", name, cmp.Diff(want, got))
		}
	}
}

func TestMarshalIsCtyjson(t *testing.T) {
	for name, attrs := range objects() {
		for label, v := range attrs {
			if !v.IsWhollyKnown() || HoldsContent(v.Type()) || v.Type() == cty.DynamicPseudoType {
				continue
			}
			got, err := marshal(v)
			want, wantErr := ctyjson.Marshal(v, v.Type())
			if string(got) != string(want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%s.%s: %s, %v; want %s, %v", name, label, got, err, want, wantErr)
			}
		}
	}
}

func FuzzMarshal(f *testing.F) {
	f.Add("a<b>&\u2028", "\xff\x00\"")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, v := range []cty.Value{cty.ListVal([]cty.Value{cty.StringVal(a), cty.StringVal(b)}), cty.MapVal(map[string]cty.Value{a: cty.StringVal(b), b: cty.StringVal(a)})} {
			got, err := marshal(v)
			want, wantErr := ctyjson.Marshal(v, v.Type())
			if string(got) != string(want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%s, %v; want %s, %v", got, err, want, wantErr)
			}
		}
	})
}
