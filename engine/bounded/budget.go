package bounded

import (
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
)

// Limits of evaluation. A step takes roughly a tenth of a microsecond. Sizes
// are rough estimates of the memory that values take.
const (
	maxWork = 20_000_000
	// maxMade bounds the total size of the values made under a budget, maxValue
	// the size of one value.
	maxMade  = 256 << 20
	maxValue = 192 << 20
	// MaxElements bounds the number of elements in one value, at all levels.
	MaxElements = 1_000_000
	// MaxLevels bounds the nesting of a value's elements.
	MaxLevels = 200
)

// Budget bounds the evaluation of all expressions of a pipeline or a definition
// together. It is safe for concurrent use. The zero value is ready to use.
type Budget struct {
	work, made atomic.Int64
	passed     atomic.Pointer[hcl.Diagnostic]
}

// stop is the panic value of an evaluation that exceeds a limit of the budget.
type stop struct{ budget *Budget }

// Reset grants the whole budget again, for further evaluations of the same
// expressions.
func (b *Budget) Reset() {
	b.work.Store(0)
	b.made.Store(0)
	b.passed.Store(nil)
}

// Passed reports whether a limit was exceeded. All later evaluations fail.
func (b *Budget) Passed() bool { return b.passed.Load() != nil }

// Parse is like the function Parse, but the expressions count against the
// budget.
func (b *Budget) Parse(src []byte, path string) (*hcl.File, hcl.Diagnostics) {
	file, diags := Parse(src, path)
	if !diags.HasErrors() {
		b.Meter(file.Body.(*hclsyntax.Body))
	}
	return file, diags
}

// Literal returns e.Value(nil) for an expression that counts against a budget.
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

// Value returns e.Value(ctx) within the budget.
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

// made reports whether an expression is a literal string or a reference to a
// value that was already measured.
func made(e hcl.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		return e.IsStringLiteral()
	case *hclsyntax.ScopeTraversalExpr:
		return true
	}
	return false
}

// Do calls f, which evaluates expressions, and returns its diagnostics. If a
// limit is exceeded, it returns a single diagnostic, whose place is at if no
// better one is known.
func (b *Budget) Do(at hcl.Range, f func() hcl.Diagnostics) (diags hcl.Diagnostics) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
		}
		if d := b.passed.Load(); d != nil {
			d := *d
			if d.Subject == nil { // a function exceeded the limit
				d.Subject = at.Ptr()
				for _, found := range diags {
					if found.Severity == hcl.DiagError && found.Subject != nil {
						d.Subject = found.Subject
					}
				}
			}
			d.Extra = TooMuch
			diags = hcl.Diagnostics{&d}
		}
	}()
	return f()
}

// TooMuch is the extra of the diagnostic that a limit is exceeded, which quotes nothing.
const TooMuch = tooMuch("too much")

type tooMuch string

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

// fail stops the evaluation. A nil place stands for the place of the function
// call.
func (b *Budget) fail(at *hcl.Range, summary, format string, args ...any) {
	d := diag.General(summary, format, args...)
	d.Subject = at
	b.passed.CompareAndSwap(nil, d)
	panic(stop{b})
}

// size is the size of a value.
type size struct{ elements, bytes int64 }

// measure returns the size of a value and refuses one that exceeds a limit.
func (b *Budget) measure(v cty.Value, at hcl.Range) size {
	var s size
	if why := s.add(v, 0); why != "" {
		b.fail(&at, "Value too large", "The value %s.", why)
	}
	return s
}

// add adds a value. If a limit is exceeded, it returns the reason.
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
	if level == MaxLevels {
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
	// The elements of these collections were measured when they were made.
	// Iterating over a set is slow.
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

// huge reports whether v is a number that takes more than about a thousand
// digits to write out.
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
	return strings.Trim(text[:maxName], "0123456789.+-eE") == ""
}

// Filled returns the number of elements of a value after all attributes of its
// type are filled in. It stops counting beyond MaxElements.
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
