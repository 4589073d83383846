package bounded

import (
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
)

// Limits of evaluation. A step is roughly a tenth of a microsecond; sizes are those
// that values take in memory, roughly.
const (
	maxWork = 20_000_000
	// maxMade bounds what all expressions of a budget make together, maxValue one
	// value.
	maxMade  = 256 << 20
	maxValue = 192 << 20
	// MaxElements bounds the elements of one value with all that is in them.
	MaxElements = 1_000_000
	// maxLevels bounds how deeply a value's elements contain others.
	maxLevels = 200
)

// Budget bounds the evaluation of the expressions of a pipeline or a definition,
// all together. It is safe for concurrent use. The zero value is ready.
type Budget struct {
	work, made atomic.Int64
	passed     atomic.Pointer[hcl.Diagnostic]
}

// stop is what an evaluation panics with that passed a limit of the budget.
type stop struct{ budget *Budget }

// Reset grants the whole budget again, for further evaluations of what was
// evaluated before.
func (b *Budget) Reset() {
	b.work.Store(0)
	b.made.Store(0)
	b.passed.Store(nil)
}

// Passed reports whether a limit was passed. Every evaluation fails from then on.
func (b *Budget) Passed() bool { return b.passed.Load() != nil }

// Parse is Parse of text whose expressions count against the budget.
func (b *Budget) Parse(src []byte, path string) (*hcl.File, hcl.Diagnostics) {
	file, diags := Parse(src, path)
	if !diags.HasErrors() {
		b.Meter(file.Body.(*hclsyntax.Body))
	}
	return file, diags
}

// Literal is e.Value(nil) of an expression that counts against some budget.
func Literal(e hcl.Expression) (v cty.Value, diags hcl.Diagnostics) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stop)
			if !ok {
				panic(r)
			}
			v, diags = cty.DynamicVal, hcl.Diagnostics{s.budget.passed.Load()}
		}
	}()
	return e.Value(nil)
}

// Value is e.Value within the budget.
func (b *Budget) Value(e hcl.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	diags = b.Do(e.Range(), func() (diags hcl.Diagnostics) {
		v, diags = e.Value(ctx)
		if diags.HasErrors() {
			return diags
		}
		if made(e) {
			return diags
		}
		m := b.measure(v, e.Range())
		b.spend(m.elements, 0, e.Range())
		return diags
	})
	if diags.HasErrors() && b.Passed() {
		v = cty.DynamicVal
	}
	return v, diags
}

// made reports whether an expression is a string as written, or a reference to a value
// that was measured when it was made.
func made(e hcl.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		return e.IsStringLiteral()
	case *hclsyntax.ScopeTraversalExpr:
		return true
	}
	return false
}

// Do calls f, which evaluates expressions, and returns its diagnostics. If it passes
// a limit, that is the only one; at is its place if none is better.
func (b *Budget) Do(at hcl.Range, f func() hcl.Diagnostics) (diags hcl.Diagnostics) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
		}
		if d := b.passed.Load(); d != nil {
			d := *d
			if d.Subject == nil { // a function passed it
				d.Subject = at.Ptr()
				for _, found := range diags {
					if found.Severity == hcl.DiagError && found.Subject != nil {
						d.Subject = found.Subject
					}
				}
			}
			diags = hcl.Diagnostics{&d}
		}
	}()
	return f()
}

// spend counts steps and bytes.
func (b *Budget) spend(work, made int64, at hcl.Range) {
	switch {
	case b.passed.Load() != nil:
		panic(stop{b})
	case b.work.Add(work) > maxWork:
		b.fail(&at, "Evaluation takes too long", "The expressions up to here need more than %d million steps. Iterate over fewer elements, or look up by key instead of searching in a loop.", maxWork/1_000_000)
	case b.made.Add(made) > maxMade:
		b.fail(&at, "Values too large", "The values made up to here take more than %d MiB.", maxMade>>20)
	}
}

// fail stops the evaluation. A nil place is that of the function call.
func (b *Budget) fail(at *hcl.Range, summary, format string, args ...any) {
	d := diag.General(summary, format, args...)
	d.Subject = at
	b.passed.CompareAndSwap(nil, d)
	panic(stop{b})
}

// size is that of a value.
type size struct{ elements, bytes int64 }

// measure returns the size of a value and refuses one that passes a limit.
func (b *Budget) measure(v cty.Value, at hcl.Range) size {
	var s size
	if why := s.add(v, 0); why != "" {
		b.fail(&at, "Value too large", "The value %s.", why)
	}
	return s
}

// add adds a value, and says of one that passes a limit why.
func (s *size) add(v cty.Value, level int) (why string) {
	s.elements++
	s.bytes += 64
	if s.elements > MaxElements || s.bytes > maxValue {
		return tooLarge(s)
	}
	if v.IsMarked() {
		v, _ = v.Unmark()
	}
	ty := v.Type()
	switch {
	case ty == cty.Number && huge(v):
		return "is a number of more than 1,000 digits"
	case v.IsNull() || !v.IsKnown():
	case ty == cty.String:
		text := v.AsString()
		if s.bytes += int64(len(text)); len(text) > maxName && digits(text) {
			return "is a number of more than 1,000 digits"
		}
		s.elements += int64(len(text) / 64)
	case ty.IsObjectType() || ty.IsMapType() || ty.IsTupleType() || ty.IsListType() || ty.IsSetType():
		return s.addElements(v, level)
	}
	if s.bytes > maxValue {
		return tooLarge(s)
	}
	return ""
}

func (s *size) addElements(v cty.Value, level int) (why string) {
	if level == maxLevels {
		return "contains values more than 200 deep"
	}
	ty := v.Type()
	n, named := int64(0), ty.IsObjectType() || ty.IsMapType()
	if ty.IsObjectType() {
		n = int64(len(ty.AttributeTypes()))
		s.bytes += 400 + 50*n
	} else {
		n = int64(v.LengthInt())
	}
	// These elements were looked at when they were made, and those of a set are slow to
	// go through.
	if ty.IsListType() && ty.ElementType() == cty.Number || ty.IsSetType() && ty.ElementType().IsPrimitiveType() {
		s.elements, s.bytes = s.elements+n, s.bytes+100*n
		if s.elements > MaxElements || s.bytes > maxValue {
			return tooLarge(s)
		}
		return ""
	}
	if s.elements+n > MaxElements {
		s.elements += n
		return tooLarge(s)
	}
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		if named {
			s.bytes += int64(len(key.AsString()))
		}
		if why := s.add(elem, level+1); why != "" {
			return why
		}
	}
	return ""
}

func tooLarge(s *size) string {
	if s.elements > MaxElements {
		return "has more than a million elements, or texts as large"
	}
	return "takes more than 192 MiB"
}

// huge reports whether v is a number so large or small that writing it out would
// take thousands of digits.
func huge(v cty.Value) bool {
	if v.Type() != cty.Number || v.IsMarked() || v.IsNull() || !v.IsKnown() {
		return false
	}
	f := v.AsBigFloat()
	exponent := f.MantExp(nil)
	return !f.IsInf() && (exponent > 3400 || exponent < -3400)
}

// endless reports whether v is infinite, as 1/0 and 1e999999999 are.
func endless(v cty.Value) bool {
	return v.Type() == cty.Number && !v.IsMarked() && v.IsKnown() && !v.IsNull() && v.AsBigFloat().IsInf()
}

// digits reports whether a text looks like a number.
func digits(text string) bool {
	for _, c := range []byte(text[:maxName]) {
		if (c < '0' || c > '9') && c != '.' && c != '+' && c != '-' && c != 'e' && c != 'E' {
			return false
		}
	}
	return true
}

// Filled returns how many elements a value has once all attributes of its type are
// there; it stops counting beyond MaxElements.
func Filled(v cty.Value, ty cty.Type) (n int) {
	switch {
	case ty.IsObjectType():
		for name, of := range ty.AttributeTypes() {
			part := cty.NilVal
			if v != cty.NilVal && v.Type().IsObjectType() && v.Type().HasAttribute(name) && !v.IsMarked() && v.IsKnown() && !v.IsNull() {
				part = v.GetAttr(name)
			}
			if n += 1 + Filled(part, of); n > MaxElements {
				return n
			}
		}
	case ty.IsCollectionType() && v != cty.NilVal && v.CanIterateElements():
		for it := v.ElementIterator(); it.Next() && n <= MaxElements; {
			_, elem := it.Element()
			n += 1 + Filled(elem, ty.ElementType())
		}
	}
	return n
}
