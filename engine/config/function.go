package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/mleflow/mleflow/engine/bounded"
)

// Functions returns the functions of the language by name: go-cty's standard library
// under Terraform's names, more of Terraform's, try and can, and added ones.
func Functions(added map[string]function.Function) map[string]function.Function {
	all := maps.Clone(standard)
	maps.Copy(all, terraform)
	maps.Copy(all, added)
	return all
}

var standard = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "can": canFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc, "chunklist": stdlib.ChunklistFunc,
	"coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
	"contains": stdlib.ContainsFunc, "csvdecode": stdlib.CSVDecodeFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc,
	"flatten": flattenFunc, "floor": stdlib.FloorFunc, "format": stdlib.FormatFunc, "formatdate": stdlib.FormatDateFunc,
	"formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc, "index": stdlib.IndexFunc, "join": stdlib.JoinFunc,
	"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": lengthFunc, "log": stdlib.LogFunc,
	"lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc, "max": stdlib.MaxFunc, "merge": stdlib.MergeFunc, "min": stdlib.MinFunc,
	"parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "range": rangeFunc, "regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc,
	"regexreplace": stdlib.RegexReplaceFunc, "replace": stdlib.ReplaceFunc, "reverse": stdlib.ReverseListFunc,
	"setintersection": stdlib.SetIntersectionFunc, "setproduct": stdlib.SetProductFunc, "setsubtract": stdlib.SetSubtractFunc,
	"setunion": stdlib.SetUnionFunc, "signum": stdlib.SignumFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc,
	"strlen": stdlib.StrlenFunc, "strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "timeadd": stdlib.TimeAddFunc, "title": stdlib.TitleFunc,
	"tobool": stdlib.MakeToFunc(cty.Bool), "tolist": toCollection(cty.List(cty.DynamicPseudoType)), "tomap": toCollection(cty.Map(cty.DynamicPseudoType)),
	"tonumber": stdlib.MakeToFunc(cty.Number), "toset": toCollection(cty.Set(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),
	"trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc, "try": tryFunc,
	"upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
}

// agentsFunc gathers agents and sweeps, so that a pipeline need not know which of the two
// a block is.
var agentsFunc = function.New(&function.Spec{
	Description: "Returns a map of agents by name, of those of a sweep each: agents(agent.a, agent.sweep) has a and sweep[KEY]. An argument is an agent, a sweep, or a list or map of these.",
	VarParam:    &function.Parameter{Name: "agents", Type: cty.DynamicPseudoType, AllowMarked: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := gather(args)
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return gather(args) },
})

func gather(args []cty.Value) (cty.Value, error) {
	all, marks, known := map[string]cty.Value{}, cty.ValueMarks{}, true
	var add func(v cty.Value) bool
	add = func(v cty.Value) bool {
		plain, own := v.Unmark()
		if isAgent(plain) {
			name, of := plain.GetAttr("name").Unmark()
			all[name.AsString()] = v
			maps.Copy(marks, of)
			return true
		}
		maps.Copy(marks, own)
		if !plain.IsKnown() {
			known = false
			return true
		}
		if plain.IsNull() || !plain.CanIterateElements() {
			return false
		}
		for it := plain.ElementIterator(); it.Next(); {
			if _, v := it.Element(); !add(v) {
				return false
			}
		}
		return true
	}
	for i, arg := range args {
		if !add(arg) {
			return cty.DynamicVal, function.NewArgErrorf(i, "it must be an agent or a sweep, such as agent.NAME, or a list of these")
		}
	}
	if !known {
		return cty.DynamicVal.WithMarks(marks), nil
	}
	return cty.ObjectVal(all).WithMarks(marks), nil
}

// isAgent reports whether a value is that of an agent block which is no sweep.
func isAgent(v cty.Value) bool {
	ty := v.Type()
	if v.IsNull() || !v.IsKnown() || !ty.IsObjectType() || !ty.HasAttribute("command") || !ty.HasAttribute("built") || !ty.HasAttribute("name") {
		return false
	}
	name, _ := v.GetAttr("name").Unmark()
	return name.Type() == cty.String && name.IsKnown() && !name.IsNull()
}

// toCollection is the standard conversion function to a collection of any element
// type, in linear time.
func toCollection(ty cty.Type) function.Function {
	standard := stdlib.MakeToFunc(ty)
	return function.New(&function.Spec{
		Description: standard.Description(),
		Params:      standard.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			v, err := bounded.Convert(args[0], ty)
			if err != nil {
				return cty.NilType, function.NewArgError(0, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return bounded.Convert(args[0], ty) },
	})
}

// lengthFunc is the standard function length that, as in Terraform, also counts
// the attributes of an object and the characters of a string.
var lengthFunc = function.New(&function.Spec{
	Description: stdlib.LengthFunc.Description(),
	Params:      stdlib.LengthFunc.Params(),
	Type: func(args []cty.Value) (cty.Type, error) {
		if ty := args[0].Type(); ty.IsObjectType() || ty == cty.String {
			return cty.Number, nil
		}
		return stdlib.LengthFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch ty := args[0].Type(); {
		case ty == cty.String:
			return stdlib.Strlen(args[0])
		case ty.IsObjectType():
			return cty.NumberIntVal(int64(len(ty.AttributeTypes()))).WithSameMarks(args[0]), nil
		}
		return stdlib.Length(args[0])
	},
})

// flattenFunc is the standard function flatten, which takes an element of a type that is
// not known yet for one that is no list.
var flattenFunc = function.New(&function.Spec{
	Description: stdlib.FlattenFunc.Description(),
	Params:      stdlib.FlattenFunc.Params(),
	Type: func(args []cty.Value) (cty.Type, error) {
		if mayBeList(args[0]) {
			return cty.DynamicPseudoType, nil
		}
		return stdlib.FlattenFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if mayBeList(args[0]) {
			return cty.DynamicVal, nil // with the marks of the argument, as all that is unknown
		}
		return stdlib.FlattenFunc.Call(args)
	},
})

// mayBeList reports whether a value or an element may be a list, which is not known yet.
func mayBeList(v cty.Value) bool {
	plain, _ := v.Unmark()
	if !plain.IsKnown() || plain.IsNull() || !plain.CanIterateElements() {
		return !plain.IsKnown() && plain.Type() == cty.DynamicPseudoType
	}
	return slices.ContainsFunc(plain.AsValueSlice(), mayBeList)
}

// maxRange is the largest number of elements of a range.
const maxRange = 1_000_000

// rangeFunc is the standard range without its limit of 1,024 elements for the
// common forms range(n) and range(a, b) over integers; anything else goes to
// the standard function.
var rangeFunc = function.New(&function.Spec{
	Description: "Returns the numbers from start (default 0) up to, but not including, limit, in steps of step (default 1).",
	VarParam:    &function.Parameter{Name: "params", Type: cty.Number},
	Type:        function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		from, to := int64(0), int64(0)
		ok := len(args) == 1 || len(args) == 2
		if ok {
			to, ok = wholeNumber(args[len(args)-1])
		}
		if ok && len(args) == 2 {
			from, ok = wholeNumber(args[0])
		}
		if len(args) == 3 && args[2].Equals(cty.Zero).True() {
			return cty.NilVal, function.NewArgErrorf(2, "the step must not be 0")
		}
		if len(args) == 1 && (!ok || to < 0) {
			return cty.NilVal, function.NewArgErrorf(0, "%s is not a count: an integer of at least 0 is needed; range(0, %[1]s) counts down", args[0].AsBigFloat().Text('g', 6))
		}
		if !ok || to <= from {
			return stdlib.RangeFunc.Call(args)
		}
		if to-from > maxRange {
			return cty.NilVal, function.NewArgErrorf(len(args)-1, "a range has at most %d elements", maxRange)
		}
		list := make([]cty.Value, 0, to-from)
		for i := from; i < to; i++ {
			list = append(list, cty.NumberIntVal(i))
		}
		return cty.ListVal(list), nil
	},
})

func wholeNumber(v cty.Value) (int64, bool) {
	f := v.AsBigFloat()
	n, accuracy := f.Int64()
	return n, f.IsInt() && accuracy == 0
}

// tryFunc and canFunc are those of HCL, except for marks: that an expression fails says
// something about all that it reads.

var tryFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
	Type:     function.StaticReturnType(cty.DynamicPseudoType), // the arguments are evaluated once
	Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return try(args) },
})

var canFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "expression", Type: customdecode.ExpressionClosureType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, failed, diags := attempt(args[0])
		switch {
		case diags.HasErrors():
			return cty.False.WithMarks(failed), nil
		case !v.IsWhollyKnown(): // it may still fail
			return cty.UnknownVal(cty.Bool).WithMarks(bounded.Marks(v)), nil
		}
		return cty.True.WithMarks(bounded.Marks(v)), nil
	},
})

// attempt evaluates an argument. If it fails, marks are those of what it read.
func attempt(arg cty.Value) (v cty.Value, marks cty.ValueMarks, diags hcl.Diagnostics) {
	closure := customdecode.ExpressionClosureFromVal(arg)
	if v, diags = closure.Value(); diags.HasErrors() {
		marks = bounded.Reads(closure.Expression, closure.EvalContext)
	}
	return v, marks, diags
}

// try returns the value of the first argument that has one. While a value is not wholly
// known, the argument may fail, and the value may be that of a later one.
func try(args []cty.Value) (cty.Value, error) {
	if len(args) == 0 {
		return cty.NilVal, errors.New("at least one argument is required")
	}
	var possible []cty.Value
	var diags hcl.Diagnostics
	read := cty.ValueMarks{}
	for _, arg := range args {
		v, failed, more := attempt(arg)
		diags = append(diags, more...)
		maps.Copy(read, failed)
		if more.HasErrors() {
			continue
		}
		possible = append(possible, v)
		if v.IsWhollyKnown() {
			break
		}
	}
	switch {
	case len(possible) == 0:
		return cty.NilVal, noneSucceeded(diags)
	case possible[0].IsWhollyKnown():
		return possible[0].WithMarks(read), nil
	}
	return bounded.AnyOf(possible).WithMarks(read), nil
}

func noneSucceeded(diags hcl.Diagnostics) error {
	var list strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&list, "\n- %s", d.Summary)
		if d.Subject != nil {
			fmt.Fprintf(&list, " (%s)", position(*d.Subject))
		}
		fmt.Fprintf(&list, ": %s", d.Detail)
	}
	return fmt.Errorf("none of the expressions has a value:%s", list.String())
}
