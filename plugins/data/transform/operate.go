package transform

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// Op is an operator of the language.
type Op string

// The operators.
const (
	Add          Op = "+"
	Subtract     Op = "-"
	Multiply     Op = "*"
	Divide       Op = "/"
	Modulo       Op = "%"
	Equal        Op = "=="
	NotEqual     Op = "!="
	Less         Op = "<"
	LessEqual    Op = "<="
	Greater      Op = ">"
	GreaterEqual Op = ">="
	And          Op = "&&"
	Or           Op = "||"
)

// Operate applies an operator cell by cell; at least one side is a column. The
// result has the name of the first column. Integers stay integers under + - *
// %, wrapping as numpy's do; / gives floats, and so do signed with unsigned ones;
// % has the sign of the divisor as in Python. Cells of objects, such as booleans
// with gaps, are computed as Python does. Integers compare exactly, integers and
// floats as floats. A comparison with a missing cell is false, except !=; a number
// and a string are never equal, and ordering them is an error.
func Operate(op Op, a, b Operand) (*table.Column, error) {
	n, name, err := operandShape(a, b)
	if err != nil {
		return nil, fmt.Errorf("operator %s: %w", op, err)
	}
	switch op {
	case Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual:
		return compareCells(op, a, b, name, n)
	case And, Or:
		return logic(op, a, b, name, n)
	default:
		return arithmetic(op, a, b, name, n)
	}
}

func operandShape(operands ...Operand) (n int, name string, err error) {
	n = -1
	for _, o := range operands {
		switch {
		case o.Column == nil:
		case n < 0:
			n, name = o.Len(), o.Column.Name()
		case n != o.Len():
			return 0, "", fmt.Errorf("the columns have %d and %d rows", n, o.Len())
		}
	}
	if n < 0 {
		return 0, "", fmt.Errorf("no column among the operands")
	}
	return n, name, nil
}

func kindOf(o Operand) table.Kind {
	if o.Column == nil {
		return o.Value.Kind()
	}
	return typeOf(o.Column)
}

// typeOf returns the kind of a column to pandas, where booleans with gaps are
// objects.
func typeOf(c *table.Column) table.Kind {
	if c.Kind() == table.Bool && c.MissingCount() > 0 {
		return table.Mixed
	}
	return c.Kind()
}

func isNumeric(k table.Kind) bool { return k.IsNumber() || k == table.Bool || k == table.Missing }

// commonKind returns the kind in which numpy computes with two operands of numbers
// or booleans. A single integer that is not negative goes with unsigned ones.
func commonKind(a, b Operand) table.Kind {
	ka, kb := kindOf(a), kindOf(b)
	if ka == table.Int64 || ka == table.Bool {
		ka, kb, a, b = kb, ka, b, a
	}
	switch {
	case ka == kb || kb == table.Bool && ka.IsNumber():
		return ka
	case ka == table.Bool:
		return kb
	case ka == table.Uint64 && kb == table.Int64 && b.Column == nil && a.Column != nil && b.Value.Int() >= 0:
		return table.Uint64
	}
	return table.Float64
}

func arithmetic(op Op, a, b Operand, name string, n int) (*table.Column, error) {
	for _, k := range []table.Kind{kindOf(a), kindOf(b)} {
		if k == table.Mixed {
			return objectArithmetic(op, a, b, name, n)
		}
		if !isNumeric(k) {
			return nil, fmt.Errorf("operator %s works on numbers, not on %s cells; join strings with a template such as \"${a}_${b}\"", op, k)
		}
	}
	switch kind := commonKind(a, b); {
	case kind == table.Bool && op == Add:
		return logic(Or, a, b, name, n)
	case kind == table.Bool && op == Multiply:
		return logic(And, a, b, name, n)
	case kind == table.Bool:
		return nil, fmt.Errorf("operator %s does not work on two booleans; convert one with integer(…)", op)
	case op == Divide:
	case kind == table.Int64:
		out, err := integerArithmetic(op, a.ints(n), b.ints(n))
		return table.FromInts(name, out), err
	case kind == table.Uint64:
		out, err := integerArithmetic(op, a.uints(n), b.uints(n))
		return table.FromUints(name, out), err
	case op == Modulo:
		return nil, fmt.Errorf("operator %% works on integers, all signed or all unsigned")
	}
	return table.FromFloats(name, computed(op, a.floats(n), b.floats(n))), nil
}

// computed returns x op y.
func computed[T int64 | uint64 | float64](op Op, x, y []T) []T {
	out := make([]T, len(x))
	for i := range out {
		switch op {
		case Add:
			out[i] = x[i] + y[i]
		case Subtract:
			out[i] = x[i] - y[i]
		case Multiply:
			out[i] = x[i] * y[i]
		case Divide:
			out[i] = x[i] / y[i]
		}
	}
	return out
}

func integerArithmetic[T int64 | uint64](op Op, x, y []T) ([]T, error) {
	if op != Modulo {
		return computed(op, x, y), nil
	}
	out := make([]T, len(x))
	for i := range out {
		if y[i] == 0 {
			return nil, fmt.Errorf("operator %%: division by zero in row %d", i)
		}
		if out[i] = x[i] % y[i]; out[i] != 0 && (out[i] < 0) != (y[i] < 0) {
			out[i] += y[i]
		}
	}
	return out, nil
}

// cellsOf returns the cells of a column as numbers, or n times a single value.
func cellsOf[T any](o Operand, n int, cells func(*table.Column) []T, value T) []T {
	if o.Column != nil {
		return cells(o.Column)
	}
	return slices.Repeat([]T{value}, n)
}

func (o Operand) floats(n int) []float64 {
	return cellsOf(o, n, (*table.Column).Floats, o.Value.Float())
}

func (o Operand) ints(n int) []int64 { return cellsOf(o, n, (*table.Column).Ints, o.Value.Int()) }

func (o Operand) uints(n int) []uint64 {
	return cellsOf(o, n, (*table.Column).Uints, uint64(o.Value.Int()))
}

// Negate returns the column with the sign changed; booleans are inverted, as by
// pandas.
func Negate(c *table.Column) (*table.Column, error) {
	switch typeOf(c) {
	case table.Bool:
		return Not(c)
	case table.Uint64: // stays unsigned
		return Operate(Subtract, Operand{Value: table.IntValue(0)}, Operand{Column: c})
	}
	return Operate(Multiply, Operand{Column: c}, Operand{Value: table.IntValue(-1)})
}

func compareCells(op Op, a, b Operand, name string, n int) (*table.Column, error) {
	ka, kb := kindOf(a), kindOf(b)
	out := make([]bool, n)
	switch {
	case ka == table.Int64 && kb == table.Int64:
		compareNumbers(op, out, a.ints(n), b.ints(n))
	case isNumeric(ka) && isNumeric(kb) && (ka == table.Float64 || kb == table.Float64):
		compareNumbers(op, out, a.floats(n), b.floats(n))
	default:
		for i := range out {
			x, y := a.at(i), b.at(i)
			order, comparable := compareObjects(x, y)
			if !comparable && !x.IsMissing() && !y.IsMissing() && op != Equal && op != NotEqual {
				return nil, fmt.Errorf("operator %s: cannot order %s and %s cells", op, ka, kb)
			}
			out[i] = decide(op, order, comparable)
		}
	}
	return table.FromBools(name, out, nil), nil
}

// compareNumbers compares cell by cell; NaN is not comparable.
func compareNumbers[T int64 | float64](op Op, out []bool, x, y []T) {
	for i := range out {
		out[i] = decide(op, cmp.Compare(x[i], y[i]), x[i] <= y[i] || x[i] > y[i])
	}
}

// compareObjects compares two cells as Python does; strings and numbers are not
// comparable, and a missing cell is with nothing.
func compareObjects(x, y table.Value) (order int, comparable bool) {
	switch texts := x.Kind() == table.Text; {
	case x.IsMissing() || y.IsMissing() || texts != (y.Kind() == table.Text):
		return 0, false
	case texts:
		return strings.Compare(x.String(), y.String()), true
	}
	return x.Compare(y), true
}

// decide turns a three-way comparison into a boolean; incomparable cells
// (a missing one) are only unequal.
func decide(op Op, c int, comparable bool) bool {
	if !comparable {
		return op == NotEqual
	}
	switch op {
	case Equal:
		return c == 0
	case NotEqual:
		return c != 0
	case Less:
		return c < 0
	case LessEqual:
		return c <= 0
	case Greater:
		return c > 0
	default:
		return c >= 0
	}
}

func logic(op Op, a, b Operand, name string, n int) (*table.Column, error) {
	for _, o := range []Operand{a, b} {
		if o.Column == nil && o.Value.Kind() != table.Bool || o.Column != nil && o.Column.Kind() != table.Bool {
			return nil, fmt.Errorf("operator %s works on booleans, not on %s cells", op, kindOf(o))
		}
	}
	return table.FromBools(name, table.Collect(n, func(i int) bool {
		x, y := a.at(i).Bool(), b.at(i).Bool()
		return x && y || op == Or && (x || y)
	}), nil), nil
}

// Not negates a column of conditions.
func Not(c *table.Column) (*table.Column, error) {
	if typeOf(c) != table.Bool {
		return nil, fmt.Errorf("operator ! works on booleans, none missing; use fillna first, or compare %s cells", c.Kind())
	}
	return table.FromBools(c.Name(), table.Collect(c.Len(), func(i int) bool { return !c.Bool(i) }), nil), nil
}

// Choose takes each row from yes where the condition holds, from no elsewhere.
// Numbers and booleans of two types give a column of the type of numpy.where's.
func Choose(cond *table.Column, yes, no Operand) (*table.Column, error) {
	n, _, err := operandShape(Operand{Column: cond}, yes, no)
	if err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	if cond.Kind() != table.Bool {
		return nil, fmt.Errorf("condition: it must be a boolean column, not a column of %s cells", cond.Kind())
	}
	out := table.Collect(n, func(i int) table.Value {
		if cond.Bool(i) {
			return yes.at(i)
		}
		return no.at(i)
	})
	switch a, b := kindOf(yes), kindOf(no); {
	case isNumeric(a) && isNumeric(b) && (a.IsNumber() || b.IsNumber()):
		return table.FromKind(cond.Name(), commonKind(yes, no), out), nil
	case (!isNumeric(a) || !isNumeric(b)) && table.CommonKind(out).IsNumber():
		return table.FromObjects(cond.Name(), out), nil
	}
	return table.FromValues(cond.Name(), out), nil
}

// Join concatenates strings and cells row by row, as a template such as
// "${a}_${b}" asks. A missing cell is an error.
func Join(parts []Operand) (*table.Column, error) {
	n, name, err := operandShape(parts...)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	out := make([]string, n)
	var buf []byte
	for i := range out {
		buf = buf[:0]
		for _, p := range parts {
			if p.missing(i) {
				return nil, fmt.Errorf("template: column %q is missing in row %d; use fillna first", p.Column.Name(), i)
			}
			if p.Column == nil {
				buf = append(buf, p.Value.String()...)
			} else {
				buf = append(buf, p.Column.Text(i)...)
			}
		}
		out[i] = string(buf)
	}
	return table.FromTexts(name, out, nil), nil
}

// objectArithmetic computes with Python's numbers, as pandas does in columns of
// objects. Missing cells stay missing.
func objectArithmetic(op Op, a, b Operand, name string, n int) (*table.Column, error) {
	out := make([]table.Value, n)
	for i := range out {
		x, y := a.at(i), b.at(i)
		if x.IsMissing() || y.IsMissing() {
			continue
		}
		var err error
		if out[i], err = pythonArithmetic(op, x, y); err != nil {
			return nil, fmt.Errorf("operator %s: row %d: %w", op, i, err)
		}
	}
	return table.FromObjects(name, out), nil
}

func pythonArithmetic(op Op, x, y table.Value) (table.Value, error) {
	switch {
	case x.Kind() == table.Text || y.Kind() == table.Text:
		return x, fmt.Errorf("it works on numbers, not on %s and %s cells", x.Kind(), y.Kind())
	case (op == Divide || op == Modulo) && y.Float() == 0:
		return x, errors.New("division by zero")
	case x.Kind() != table.Float64 && y.Kind() != table.Float64:
		return pythonIntegers(op, bigOf(x), bigOf(y))
	case op == Modulo:
		return x, errors.New("it works on integers")
	}
	return table.FloatValue(computed(op, []float64{x.Float()}, []float64{y.Float()})[0]), nil
}

func bigOf(v table.Value) *big.Int {
	if v.Kind() == table.Uint64 {
		return new(big.Int).SetUint64(uint64(v.Int()))
	}
	return big.NewInt(v.Int())
}

func pythonIntegers(op Op, x, y *big.Int) (table.Value, error) {
	out := new(big.Int)
	switch op {
	case Add:
		out.Add(x, y)
	case Subtract:
		out.Sub(x, y)
	case Multiply:
		out.Mul(x, y)
	case Modulo:
		if out.Mod(x, y); out.Sign() != 0 && y.Sign() < 0 {
			out.Add(out, y)
		}
	case Divide:
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		if x.Sign() == 0 && y.Sign() < 0 {
			f = math.Copysign(0, -1)
		}
		return table.FloatValue(f), nil
	}
	switch {
	case out.IsInt64():
		return table.IntValue(out.Int64()), nil
	case out.IsUint64():
		return table.UintValue(out.Uint64()), nil
	}
	return table.Value{}, fmt.Errorf("%d is beyond 64 bits", out)
}
