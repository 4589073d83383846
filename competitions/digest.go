package competitions

import (
	"bytes"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/diag"
)

// CommandFunction is the function with which a grade block names a metric that is a
// program of the competition's folder.
const CommandFunction = "command"

// PrepareDigest identifies everything in the definition that preparation
// depends on: the prepare block, the values of the locals and parameters it
// refers to. Comments and layout do not count, nor does anything that only
// grading or people read.
func (d *Definition) PrepareDigest(params map[string]cty.Value) (digest.ContentID, hcl.Diagnostics) {
	h := digest.NewHasher("prepare definition", "1")
	diags := d.hashBlock(h, d.Prepare, params)
	if d.PreparedByPython() {
		diags = append(diags, d.hashPython(h, d.Python.Prepare)...)
	}
	if d.Masked() {
		d.hashMask(h)
	}
	return digest.ContentID(h.Sum()), diags
}

// GradeDigest identifies everything in the definition that a grading report
// depends on: the grade block, the values it refers to, the path of the answers,
// the leaderboard, the version and its flags. That of a shipped definition with its
// default parameters is computed once.
func (d *Definition) GradeDigest(params map[string]cty.Value) (digest.ContentID, hcl.Diagnostics) {
	if len(params) > 0 || d.Dir() != "" {
		return d.gradeDigest(params)
	}
	variant := gradeVariant{d.Version, d.Rehearsal, len(d.Flags)}
	if sum, ok := d.graded.Load(variant); ok {
		return sum.(digest.ContentID), nil
	}
	sum, diags := d.gradeDigest(nil)
	if len(diags) == 0 {
		d.graded.Store(variant, sum)
	}
	return sum, diags
}

// gradeVariant names one of the definitions made from the same file.
type gradeVariant struct {
	version   string
	rehearsal bool
	flags     int // a rehearsal has those that were added later
}

func (d *Definition) gradeDigest(params map[string]cty.Value) (digest.ContentID, hcl.Diagnostics) {
	h := digest.NewHasher("grade definition", "1")
	h.String("id", d.ID)
	h.String("version", d.Version)
	h.String("answers", d.Layout.Answers)
	for _, score := range d.Medals.Scores {
		h.String("team", scoreText(score))
	}
	if d.Medals.undecided() {
		h.String("better", Direction(d.Medals.LowerIsBetter).String())
	}
	for _, flag := range d.Flags {
		h.String("flag", string(flag))
	}
	diags := d.hashBlock(h, d.Grade, params)
	if d.GradedByPython() {
		diags = append(diags, d.hashPython(h, d.Python.Grade)...)
	}
	return digest.ContentID(h.Sum()), diags
}

// scoreText spells a score as math/big does, which takes long, and has its own idea
// of the shortest text of tiny numbers and some of 16 digits.
func scoreText(score float64) string {
	if text := strconv.FormatFloat(score, 'g', -1, 64); len(text) <= 15 && math.Abs(score) > 1e-300 {
		return text
	}
	return cty.NumberFloatVal(score).AsBigFloat().Text('g', -1)
}

// hashBlock adds a block's tokens and the values they refer to.
func (d *Definition) hashBlock(h *digest.Hasher, b Block, params map[string]cty.Value) hcl.Diagnostics {
	if b.IsZero() {
		return nil
	}
	body := b.Body.(*hclsyntax.Body)
	for _, text := range d.tokens(body.SrcRange) {
		h.String("token", text)
	}
	ctx, diags := d.EvalContext(params)
	if diags.HasErrors() {
		return diags
	}
	values := maps.Clone(ctx.Variables)
	for name, v := range values[ParamRoot].AsValueMap() {
		values[ParamRoot+"."+name] = v
	}
	delete(values, ParamRoot)
	names := referenced(body)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		root, _, _ := strings.Cut(name, ".")
		if !slices.Contains(names, name) && !slices.Contains(names, root) {
			continue
		}
		text, err := ctyjson.Marshal(values[name], cty.DynamicPseudoType)
		if err != nil {
			return append(diags, diag.Error(b.Range, "Cannot encode "+name, "%v.", err))
		}
		h.String(name, string(text))
	}
	// A file that is read through a local is in the local's value.
	if slices.Contains(names, "lines()") || slices.Contains(names, CommandFunction+"()") {
		if err := d.hashFiles(h); err != nil {
			return append(diags, diag.Error(b.Range, "Cannot read the competition's files", "%v.", err))
		}
	}
	return diags
}

// hashFiles adds every file of the competition's folder except the definition, the data
// of its rehearsal and the files with checksums of the outputs.
func (d *Definition) hashFiles(h *digest.Hasher) error {
	return fs.WalkDir(d.folder, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == FileName || name == LockName || name == RehearsalName || slices.ContainsFunc(d.Versions(), func(v string) bool { return name == manifestName(v) }) {
			return err
		}
		data, err := fs.ReadFile(d.folder, name)
		h.Content("file "+name, digest.Of(data))
		return err
	})
}

// referenced returns the name of every reference below a body; of a parameter
// with its root, as param.name, and the root alone where any may be meant; of a
// function as name().
func referenced(body *hclsyntax.Body) []string {
	var names []string
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			names = append(names, call.Name+"()")
		}
		expr, ok := n.(*hclsyntax.ScopeTraversalExpr)
		if !ok {
			return nil
		}
		name := expr.Traversal.RootName()
		if name == ParamRoot && len(expr.Traversal) > 1 {
			switch step := expr.Traversal[1].(type) {
			case hcl.TraverseAttr:
				name += "." + step.Name
			case hcl.TraverseIndex:
				if step.Key.Type() == cty.String {
					name += "." + step.Key.AsString()
				}
			}
		}
		names = append(names, name)
		return nil
	})
	return names
}

// tokens returns the texts of the tokens of a range, without comments and
// without line ends that mean nothing.
func (d *Definition) tokens(r hcl.Range) []string {
	all, _ := hclsyntax.LexConfig(r.SliceBytes(d.file.Bytes), r.Filename, r.Start)
	var out []string
	depth := 0
	newline := func() {
		if n := len(out); depth == 0 && n > 0 && out[n-1] != "\n" {
			out = append(out, "\n")
		}
	}
	for _, t := range all {
		switch t.Type {
		case hclsyntax.TokenEOF:
			continue
		case hclsyntax.TokenNewline:
			newline()
			continue
		case hclsyntax.TokenComment:
			if bytes.HasSuffix(t.Bytes, []byte("\n")) {
				newline()
			}
			continue
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrack:
			depth++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack:
			depth--
		}
		out = append(out, string(t.Bytes))
	}
	return out
}

// TextParams returns values for parameters as a step's arguments have them.
func TextParams(texts map[string]string) map[string]cty.Value {
	values := make(map[string]cty.Value, len(texts))
	for name, text := range texts {
		values[name] = cty.StringVal(text)
	}
	return values
}
