package prep

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
)

// Sides tells the public files of a preparation with training data from the others. The
// patterns of the definition's block validation decide; else the words train and test in
// the path; else which part of a split the expressions of the output use.
type Sides struct {
	patterns competitions.Validation
	// trained are the outputs that are made from a training part only, others the rest.
	trained, others []*regexp.Regexp
}

// placeholder is a {name} of a destination.
var placeholder = pattern.New(`\\\{[^{}]*\\\}`)

// SidesOf reads the prepare block of a definition.
func SidesOf(def *competitions.Definition, params map[string]cty.Value) (*Sides, hcl.Diagnostics) {
	block, diags := decode(def, params)
	if diags.HasErrors() {
		return nil, diags
	}
	ctx, diags := def.EvalContext(params)
	if diags.HasErrors() {
		return nil, diags
	}
	out := &Sides{patterns: def.Validation}
	for _, it := range block.outputs {
		dest, public := strings.CutPrefix(it.dest, "public/")
		if !public {
			continue
		}
		form, err := regexp.Compile("^" + placeholder.Regexp().ReplaceAllString(regexp.QuoteMeta(dest), ".+") + "(/.*)?$")
		if err != nil {
			return nil, hcl.Diagnostics{diag.Error(it.block.DefRange(), "Wrong destination", "%v.", err)}
		}
		l := &lineage{locals: block.evaluator.locals, context: ctx, seen: map[string]bool{}}
		l.item(it)
		if l.train && !l.test {
			out.trained = append(out.trained, form)
		} else {
			out.others = append(out.others, form)
		}
	}
	return out, nil
}

// Training reports whether a file or folder below public holds training data.
func (s *Sides) Training(name string) bool {
	matches := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			for at := name; at != "."; at = path.Dir(at) {
				if ok, _ := path.Match(p, at); ok {
					return true
				}
			}
			return false
		})
	}
	switch {
	case matches(s.patterns.Training):
		return true
	case matches(s.patterns.Test):
		return false
	}
	switch train, test := hasWord(name, "train", "training"), hasWord(name, "test", "testing"); {
	case train != test:
		return train
	case train:
		return false
	}
	made := func(form *regexp.Regexp) bool { return form.MatchString(name) }
	return slices.ContainsFunc(s.trained, made) && !slices.ContainsFunc(s.others, made)
}

var letters = pattern.New(`[A-Za-z]+`)

// hasWord reports whether a path has one of some words, between other characters than
// letters or at a change of case.
func hasWord(name string, words ...string) bool {
	return slices.ContainsFunc(letters.Regexp().FindAllString(name, -1), func(word string) bool {
		return slices.Contains(words, strings.ToLower(word))
	})
}

// lineage finds which parts of a split expressions use: it follows locals up to one with
// the name of a part, or to a part of a local.
type lineage struct {
	locals      *localSet
	context     *hcl.EvalContext
	seen        map[string]bool
	train, test bool
}

func (l *lineage) item(it *item) {
	for _, name := range sortedKeys(it.block.Body.Attributes) {
		l.follow(it.block.Body.Attributes[name].Expr)
	}
	for _, inside := range it.inside {
		l.item(inside)
	}
}

func (l *lineage) follow(expr hclsyntax.Expression) {
	unused := l.unused(expr)
	for _, t := range expr.Variables() {
		if slices.ContainsFunc(unused, func(r hcl.Range) bool { return r.ContainsPos(t.SourceRange().Start) }) {
			continue
		}
		name := t.RootName()
		own := l.locals.own[name]
		if own == nil || l.part(name) || len(t) > 1 && l.part(memberOf(t[1])) || l.seen[name] {
			continue
		}
		l.seen[name] = true
		l.follow(own.attr.Expr)
	}
}

// part notes a name that is that of a part.
func (l *lineage) part(name string) bool {
	l.train, l.test = l.train || name == "train", l.test || name == "test"
	return name == "train" || name == "test"
}

func memberOf(t hcl.Traverser) string {
	switch t := t.(type) {
	case hcl.TraverseAttr:
		return t.Name
	case hcl.TraverseIndex:
		if t.Key.Type() == cty.String {
			return t.Key.AsString()
		}
	}
	return ""
}

// unused returns the branches that are not used, by conditions that need no data.
func (l *lineage) unused(expr hclsyntax.Expression) (out []hcl.Range) {
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		c, ok := n.(*hclsyntax.ConditionalExpr)
		if !ok {
			return nil
		}
		v, diags := c.Condition.Value(l.context)
		if diags.HasErrors() || !v.IsKnown() || v.IsNull() || v.Type() != cty.Bool {
			return nil
		}
		if v.True() {
			out = append(out, c.FalseResult.Range())
		} else {
			out = append(out, c.TrueResult.Range())
		}
		return nil
	})
	return out
}

// Split describes the split of a preparation for people.
type Split struct {
	// Kind is one of competitions.SplitKinds.
	Kind string
	// Share is the size of the test part: a part such as 0.1, a number of rows, the text
	// of the block validation, or "" where it depends on data.
	Share string
}

// splitVerbs are the verbs that split, with the kind of their splits.
var splitVerbs = map[string]string{"train_test_split": "random", "train_test_split_each": "stratified", "first_fit": "grouped", "k_fold": "random", "time_series_split": "time"}

// SplitOf finds the first split of a definition's prepare block, unless its block
// validation says it.
func SplitOf(def *competitions.Definition) Split {
	out := Split{"own", ""}
	ctx, diags := def.EvalContext(nil)
	body, ok := def.Prepare.Body.(*hclsyntax.Body)
	if !ok || diags.HasErrors() {
		return out
	}
	var first *hclsyntax.FunctionCallExpr
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if ok && splitVerbs[call.Name] != "" && len(call.Args) > 0 && (first == nil || call.NameRange.Start.Byte < first.NameRange.Start.Byte) {
			first = call
		}
		return nil
	})
	if first != nil {
		text := func(e hclsyntax.Expression) string { return string(e.Range().SliceBytes(def.Source())) }
		if out.Kind = splitVerbs[first.Name]; strings.Contains(text(first.Args[0]), "unique(") {
			out.Kind = "grouped"
		}
		if first.Name == "k_fold" {
			switch options := text(first.Args[len(first.Args)-1]); {
			case strings.Contains(options, "groups"):
				out.Kind = "grouped"
			case strings.Contains(options, "stratify"):
				out.Kind = "stratified"
			}
		}
		size, rest := sizeOf(first.Args[len(first.Args)-1])
		if v, diags := size.Value(ctx); !diags.HasErrors() && v.IsKnown() && v.Type() == cty.Number {
			f, _ := v.AsBigFloat().Float64()
			if rest {
				f = 1 - f
			}
			out.Share = strconv.FormatFloat(f, 'f', -1, 64)
		}
	}
	out.Kind, out.Share = cmp.Or(def.Validation.Kind, out.Kind), cmp.Or(def.Validation.Share, out.Share)
	return out
}

// sizeOf returns the expression of the size of the test part, or of the rest.
func sizeOf(options hclsyntax.Expression) (size hclsyntax.Expression, rest bool) {
	object, ok := options.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return options, false
	}
	for _, item := range object.Items {
		switch hcl.ExprAsKeyword(item.KeyExpr) {
		case "test_size":
			return item.ValueExpr, false
		case "train_size":
			size, rest = item.ValueExpr, true
		}
	}
	if size == nil {
		return options, false
	}
	return size, rest
}
