package competitions

import (
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

var metrics = sync.OnceValue(metric.All)

// Direction returns the direction of scores, by whether lower ones are better.
func Direction(lowerIsBetter bool) metric.Direction {
	if lowerIsBetter {
		return metric.Lower
	}
	return metric.Higher
}

// undecided reports whether the leaderboard does not tell the direction of
// scores: it has none, one team, or teams with equal scores at both ends.
func (m Medals) undecided() bool {
	n := len(m.Scores)
	return n == 0 || m.Scores[0] == m.Scores[n-1]
}

// direct takes the direction of scores from the metric where the leaderboard does
// not tell it. Lint compares the two where both do.
func (d *Definition) direct() {
	if !d.Medals.undecided() {
		return
	}
	if lower, known := d.lowerIsBetter(); known {
		d.Medals.LowerIsBetter = lower
	}
}

// lowerIsBetter reads the direction of the metric from the grade block: that of
// a metric of ours, or the attribute better of an external one.
func (d *Definition) lowerIsBetter() (lower, known bool) {
	body, ok := d.Grade.Body.(*hclsyntax.Body)
	if !ok || body.Attributes["metric"] == nil {
		return false, false
	}
	expr := body.Attributes["metric"].Expr
	if call, ok := expr.(*hclsyntax.FunctionCallExpr); ok && call.Name == CommandFunction && len(call.Args) == 1 {
		better := d.attribute(call.Args[0], "better")
		return better == "lower", better == "lower" || better == "higher"
	}
	m, err := metrics().Get(d.gradeText(expr))
	return m.Better == metric.Lower, err == nil
}

// attribute returns an attribute of an object in the grade block; "" if it is
// no string.
func (d *Definition) attribute(object hcl.Expression, name string) string {
	items, diags := hcl.ExprMap(object)
	if diags.HasErrors() {
		return ""
	}
	for _, item := range items {
		if hcl.ExprAsKeyword(item.Key) == name || d.gradeText(item.Key) == name {
			return d.gradeText(item.Value)
		}
	}
	return ""
}

// gradeText evaluates an expression of the grade block; "" if it is no string.
// Most are literals, which need no scope.
func (d *Definition) gradeText(expr hcl.Expression) string {
	var scope *hcl.EvalContext
	if len(expr.Variables()) > 0 {
		scope, _ = d.EvalContext(nil)
	}
	v, diags := expr.Value(scope)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}
