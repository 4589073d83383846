package transform

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/mleflow/mleflow/plugins/data/table"
)

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
