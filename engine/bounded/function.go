package bounded

import (
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// Functions returns the functions with checks that estimate the result of a
// call before it is made, because a short text can ask for a huge result. Unknown
// results have the marks of all arguments.
func (b *Budget) Functions(all map[string]function.Function) map[string]function.Function {
	out := make(map[string]function.Function, len(all))
	for name, f := range all {
		out[name] = marking(name, f)
		check, ok := checks[name]
		if !ok && opens(f) {
			check, ok = none, true
		}
		if ok {
			out[name] = marking(name, b.checked(f, func(args []cty.Value) error {
				n, bytes := check(args)
				if n > MaxElements || bytes > maxText {
					return fmt.Errorf("the call would make or look through about %.0f elements and %.0f bytes; at most %d and %d are allowed", n, bytes, MaxElements, maxText)
				}
				b.spendIn(size{elements: int64(n)})
				return nil
			}))
		}
	}
	return out
}

// A check estimates the number of elements and bytes of text that a call makes
// or needs. The numbers are floating-point, so that they do not overflow.
type check func(args []cty.Value) (elements, bytes float64)

// compares is the check for conversions to a collection.
func compares(args []cty.Value) (elements, bytes float64) {
	if !structural(args[0]) {
		return 0, 0
	}
	_, steps := differing(args[0].AsValueSlice())
	return float64(steps) / 64, 0
}

// none is the check for functions that only need protection against huge
// numbers.
func none([]cty.Value) (elements, bytes float64) { return 0, 0 }

var checks = map[string]check{
	"abs": none, "ceil": none, "floor": none, "log": none, "max": none, "min": none, "pow": none, "range": none, "signum": none, "tonumber": none, "parseint": none,
	"upper": none, "lower": none, "title": none, "jsonencode": none, "templatefile": none, "strlen": characters, "length": characters, "substr": characters, "strrev": characters,
	"toset": compares, "tolist": compares, "tomap": compares,
	"setproduct": func(args []cty.Value) (elements, bytes float64) {
		elements = float64(len(args)) + 1
		for _, arg := range args {
			elements *= count(arg)
		}
		return elements, 0
	},
	"format": func(args []cty.Value) (elements, bytes float64) { return 0, formatted(args) },
	"formatlist": func(args []cty.Value) (elements, bytes float64) {
		for _, arg := range args {
			if ty := arg.Type(); ty.IsListType() || ty.IsTupleType() || ty.IsSetType() {
				elements = max(elements, count(arg))
			}
		}
		return elements, formatted(args) * max(1, elements)
	},
	"indent": func(args []cty.Value) (elements, bytes float64) {
		return 0, float64(strings.Count(text(args, 1), "\n")) * number(args, 0)
	},
	"join": func(args []cty.Value) (elements, bytes float64) {
		for _, arg := range args[min(1, len(args)):] {
			elements += count(arg)
			var s size
			_ = s.add(arg, 0)
			bytes += float64(s.bytes) - 64*count(arg)
		}
		return elements, bytes + elements*float64(len(text(args, 0)))
	},
	"replace": func(args []cty.Value) (elements, bytes float64) {
		return 0, float64(len(text(args, 0))) + float64(strings.Count(text(args, 0), text(args, 1))*len(text(args, 2)))
	},
	"regexreplace": func(args []cty.Value) (elements, bytes float64) {
		s := text(args, 0)
		return searched(text(args, 1), s), float64(len(s)+1)*float64(len(text(args, 2)))/16 + float64(len(s)*strings.Count(text(args, 2), "$"))
	},
	"regex":    func(args []cty.Value) (elements, bytes float64) { return searched(text(args, 0), text(args, 1)), 0 },
	"regexall": func(args []cty.Value) (elements, bytes float64) { return 2 * searched(text(args, 0), text(args, 1)), 0 },
	"split": func(args []cty.Value) (elements, bytes float64) {
		return float64(strings.Count(text(args, 1), text(args, 0))), 0
	},
	"trim": func(args []cty.Value) (elements, bytes float64) {
		return float64(len(text(args, 0))) * float64(len(text(args, 1))) / 64, 0
	},
	"chunklist": func(args []cty.Value) (elements, bytes float64) { return count(args[0]), 0 },
	"distinct":  func(args []cty.Value) (elements, bytes float64) { return count(args[0]) * count(args[0]) / 32, 0 },
	"jsondecode": func(args []cty.Value) (elements, bytes float64) {
		s := text(args, 0)
		return 4 * float64(strings.Count(s, ",")+strings.Count(s, "{")+strings.Count(s, "[")), jsonCost(s)
	},
	"alltrue": counted, "anytrue": counted, "sum": counted, "sha256": hashed, "urlencode": hashed,
	"yamldecode": func(args []cty.Value) (elements, bytes float64) { // a * may be an alias, which repeats
		return float64(len(text(args, 0))/4 + 62_500*min(1, strings.Count(text(args, 0), "*"))), 0
	},
	"csvdecode": func(args []cty.Value) (elements, bytes float64) {
		s := text(args, 0)
		header, _, _ := strings.Cut(s, "\n")
		return 4 * float64(strings.Count(s, "\n")) * float64(strings.Count(header, ",")+1), 0
	},
}

// text returns an argument that is a known string, or "" otherwise.
func text(args []cty.Value, i int) string {
	if i >= len(args) {
		return ""
	}
	v, _ := args[i].Unmark()
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}

func number(args []cty.Value, i int) float64 {
	v, _ := args[i].Unmark()
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return 0
	}
	f, _ := v.AsBigFloat().Float64()
	return f
}

// count returns the number of elements of a collection, or 0 if it is unknown.
func count(v cty.Value) float64 {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return 0
	}
	return float64(v.LengthInt())
}

// counted is the check for functions that look at each element once.
func counted(args []cty.Value) (elements, bytes float64) { return count(args[0]), 0 }

// hashed is the check for functions that look at each byte once.
func hashed(args []cty.Value) (elements, bytes float64) { return float64(len(text(args, 0))) / 64, 0 }

// characters is the check for functions that split a text into characters.
func characters(args []cty.Value) (elements, bytes float64) {
	return float64(len(text(args, 0))) / 3, 0
}

// searched returns the work of a pattern search, in elements. A short pattern
// may compile to a large program.
func searched(pattern, s string) float64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return float64(len(program.Inst)) * float64(len(s)) / 8
}

// formatted estimates the length of the result of format.
func formatted(args []cty.Value) (bytes float64) {
	longest := 32.0
	for _, arg := range args[min(1, len(args)):] {
		var s size
		_ = s.add(arg, 0)
		longest = max(longest, float64(s.bytes))
	}
	f := text(args, 0)
	number := 0.0
	for _, c := range []byte(f) {
		switch {
		case c >= '0' && c <= '9':
			number = 10*number + float64(c-'0')
		default:
			bytes, number = bytes+number, 0
		}
	}
	return bytes + float64(len(f)) + float64(strings.Count(f, "%"))*longest
}

// jsonCost returns more than the allowed bytes if a JSON text is nested too
// deeply or has a number that is too long when written out. Otherwise it
// returns 0.
func jsonCost(s string) float64 {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				i++
			}
		case c == '[' || c == '{':
			if depth++; depth > MaxLevels {
				return 2 * maxText
			}
		case c == ']' || c == '}':
			depth--
		case c == 'e' || c == 'E':
			n := strings.TrimLeft(s[i+1:min(len(s), i+20)], "+-0")
			if len(n)-len(strings.TrimLeft(n, "0123456789")) > 3 {
				return 2 * maxText
			}
		}
	}
	return 0
}

// Template renders a template with the names and functions of ctx.
func (b *Budget) Template(path, src string, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	expr, diags := parseTemplate([]byte(src), path)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	b.Meter(expr)
	b.spendIn(size{elements: int64(len(src)), bytes: int64(len(src))})
	return b.trace(expr, ctx)
}

// collector converts the arguments of a function that accepts collections of
// any element type, such as join. The standard conversion of a tuple compares
// the types of all pairs of elements. Convert compares those that differ.
type collector struct {
	params []function.Parameter
	rest   *function.Parameter
	// opens reports whether the function has such parameters.
	opens bool
}

func ofAny(ty cty.Type) bool {
	return ty.IsCollectionType() && (ty.ElementType() == cty.DynamicPseudoType || ty.ElementType() == cty.String)
}

// opens reports whether a function has such parameters.
func opens(f function.Function) bool {
	rest := f.VarParam()
	return rest != nil && ofAny(rest.Type) || slices.ContainsFunc(f.Params(), func(p function.Parameter) bool { return ofAny(p.Type) })
}

func (c collector) convert(args []cty.Value) ([]cty.Value, error) {
	if !c.opens {
		return args, nil
	}
	out := slices.Clone(args)
	for i, arg := range args {
		ty := cty.DynamicPseudoType
		if i < len(c.params) {
			ty = c.params[i].Type
		} else if c.rest != nil {
			ty = c.rest.Type
		}
		if !ofAny(ty) || arg.Type() == cty.DynamicPseudoType {
			continue
		}
		v, err := Convert(arg, ty)
		if err != nil {
			return nil, function.NewArgError(i, err)
		}
		out[i] = v
	}
	return out, nil
}

// Convert is convert.Convert in a time that grows with the number of elements of
// a tuple or object. The standard conversion to a collection compares the types of
// all pairs of elements. Convert compares each with the types that differ, and
// refuses values with so many of these that it would take long.
func Convert(v cty.Value, ty cty.Type) (cty.Value, error) {
	if !ty.IsCollectionType() || !structural(v) || ty.IsMapType() != v.Type().IsObjectType() {
		return convert.Convert(v, ty)
	}
	elems, of := v.AsValueSlice(), ty.ElementType()
	err := convertAll(elems, of)
	if err == nil && of.HasDynamicTypes() {
		types, steps := differing(elems)
		if steps > maxCompared {
			return cty.NilVal, fmt.Errorf("its %d elements have more than %d different types, which would all be compared", len(elems), len(types)-1)
		}
		if of, _ = convert.UnifyUnsafe(types); of == cty.NilType {
			return cty.NilVal, errors.New(convert.MismatchMessage(v.Type(), ty))
		}
		err = convertAll(elems, of)
	}
	switch {
	case err != nil:
		return cty.NilVal, err
	case !cty.CanListVal(elems):
		return cty.NilVal, errors.New("all elements must have the same type")
	case ty.IsListType():
		return cty.ListVal(elems), nil
	case ty.IsSetType():
		return cty.SetVal(elems), nil
	}
	all := make(map[string]cty.Value, len(elems))
	for i, key := range slices.Sorted(maps.Keys(v.Type().AttributeTypes())) { // the order of the elements
		all[key] = elems[i]
	}
	return cty.MapVal(all), nil
}

func convertAll(elems []cty.Value, of cty.Type) (err error) {
	for i, elem := range elems {
		if elems[i], err = Convert(elem, of); err != nil {
			return err
		}
	}
	return nil
}

// structural reports whether v is a tuple or object with elements, the value of
// a constructor or a for expression.
func structural(v cty.Value) bool {
	ty := v.Type()
	return (ty.IsTupleType() || ty.IsObjectType()) && !v.IsMarked() && v.IsKnown() && !v.IsNull() && v.LengthInt() > 0
}

// maxCompared bounds the number of pairs of types that a conversion compares.
const maxCompared = 8000 * 8000

// differing returns the different types of elements, and the number of comparisons
// that finding them took. It stops above maxCompared.
func differing(elems []cty.Value) (types []cty.Type, steps int) {
	for _, elem := range elems {
		at := slices.IndexFunc(types, elem.Type().Equals)
		if at < 0 {
			at, types = len(types), append(types, elem.Type())
		}
		if steps += at; steps > maxCompared {
			break
		}
	}
	return types, steps
}
