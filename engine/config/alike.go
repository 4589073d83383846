package config

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
)

// alike has the values of an argument that refers only to attributes of
// each.value, by the values of these attributes. All attempts at a competition
// have the same data, for example.
type alike struct {
	attributes []string
	arguments  sync.Map // of type argument, by key
	// gain is the number of values found minus that of values evaluated. Below the
	// least, no more values are kept: most instances differ.
	gain  atomic.Int64
	least int64
}

// argument is the evaluated value of an argument and what evaluating it found.
type argument struct {
	value cty.Value
	consumed
}

// alikeIn returns nil unless the expressions refer to attributes of each.value, and
// to nothing else of each.
func alikeIn(exprs ...hcl.Expression) *alike {
	var attributes []string
	for _, e := range exprs {
		for _, t := range e.Variables() {
			if t.RootName() != "each" {
				continue
			}
			if len(t) < 3 {
				return nil
			}
			of, _ := member(t[1])
			name, ok := member(t[2])
			if of != "value" || !ok {
				return nil
			}
			attributes = append(attributes, name)
		}
	}
	if attributes == nil {
		return nil
	}
	slices.Sort(attributes)
	return &alike{attributes: slices.Compact(attributes)}
}

// alikes returns the arguments of a step that n instances may share. In the order of
// keys, all seeds of a competition come first: many values may be evaluated before
// one is found.
func alikes(exprs []hcl.Expression, n int) map[hcl.Expression]*alike {
	all := map[hcl.Expression]*alike{}
	for _, e := range exprs {
		if m := alikeIn(e); m != nil {
			m.least = -int64(max(256, n/8))
			all[e] = m
		}
	}
	return all
}

// key encodes the attributes of each.value. ok is false if one of them is not a
// known string, integer or boolean.
func (m *alike) key(each cty.Value) (key string, ok bool) {
	if each == cty.NilVal || each.IsMarked() || each.IsNull() || !each.IsKnown() || !each.Type().IsObjectType() {
		return "", false
	}
	var b []byte
	for _, name := range m.attributes {
		if !each.Type().HasAttribute(name) {
			return "", false
		}
		v := each.GetAttr(name)
		if v.IsMarked() || v.IsNull() || !v.IsKnown() {
			return "", false
		}
		switch v.Type() {
		case cty.String:
			text := v.AsString()
			b = append(strconv.AppendInt(append(b, 's'), int64(len(text)), 10), ':')
			b = append(b, text...)
		case cty.Number:
			n, accuracy := v.AsBigFloat().Int64()
			if accuracy != big.Exact {
				return "", false
			}
			b = strconv.AppendInt(append(b, 'n'), n, 10)
		case cty.Bool:
			b = strconv.AppendBool(append(b, 'b'), v.True())
		default:
			return "", false
		}
	}
	return string(b), true
}

// argument returns the value of an argument of an instance. It evaluates the
// expression unless an instance with the same attributes did so without errors.
func (m *alike) argument(e *argEval, a *step.Attr, expr hcl.Expression) cty.Value {
	key, ok := m.key(e.inst.each)
	if !ok || m.gain.Load() < m.least {
		return e.own(a, expr)
	}
	if found, ok := m.arguments.Load(key); ok {
		m.gain.Add(1)
		same := found.(argument)
		e.origins = append(e.origins, same.origins...)
		e.private, e.text = cmp.Or(e.private, same.private), e.text || same.text
		return same.value
	}
	m.gain.Add(-1)
	origins, diags, private, text := len(e.origins), len(e.diags), e.private, e.text
	e.private, e.text = "", false
	v := e.own(a, expr)
	if len(e.diags) == diags {
		m.arguments.Store(key, argument{v, consumed{slices.Clone(e.origins[origins:]), e.private, e.text}})
	}
	e.private, e.text = cmp.Or(private, e.private), text || e.text
	return v
}
