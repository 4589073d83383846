package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/engine/bounded"
)

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
