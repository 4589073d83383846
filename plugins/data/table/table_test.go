package table

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, text string, o ReadOptions) *Table {
	t.Helper()
	tb, err := ReadCSV(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

func text(t *testing.T, tb *Table) string {
	t.Helper()
	return string(written(t, tb, WriteOptions{}))
}

func must(t *testing.T) func(tb *Table, err error) *Table {
	return func(tb *Table, err error) *Table {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return tb
	}
}

const sample = "id,n,f,s,b\n1,10,0.5,x,True\n2,20,,\"a,b\",False\n3,30,1e-05,,True\n4,40,2,é,True\n"

func TestTableOperations(t *testing.T) {
	tb := read(t, sample, ReadOptions{})
	ok := must(t)
	for _, tc := range []struct {
		name string
		got  *Table
		want string
	}{
		{"select", ok(tb.Select("s", "id")), "s,id\nx,1\n\"a,b\",2\n,3\né,4\n"},
		{"drop", ok(tb.Drop("id", "s", "b")), "n,f\n10,0.5\n20,\n30,1e-05\n40,2.0\n"},
		{"rename", ok(ok(tb.Select("id", "n")).Rename("n", "m")), "id,m\n1,10\n2,20\n3,30\n4,40\n"},
		{"take", ok(tb.Take([]int{3, 0, 3}).Select("id", "s", "b")), "id,s,b\n4,é,True\n1,x,True\n4,é,True\n"},
		{"take of take", ok(tb.Take([]int{3, 1, 0}).Take([]int{2, 1}).Select("id", "f")), "id,f\n1,0.5\n2,\n"},
		{"take missing", tb.Take([]int{1, -1}), "id,n,f,s,b\n2.0,20.0,,\"a,b\",False\n,,,,\n"},
		{"slice of take", ok(tb.Take([]int{3, 1, 0}).Slice(1, 3).Select("id")), "id\n2\n1\n"},
		{"take of slice", ok(tb.Slice(1, 4).Take([]int{2, 0}).Select("id")), "id\n4\n2\n"},
		{"no rows", ok(tb.Slice(2, 2).Select("id", "f")), "id,f\n"},
		{"with new", ok(ok(tb.Select("id")).With(FromTexts("z", []string{"p", "q", "", "s"}, []bool{true, true, false, true}))),
			"id,z\n1,p\n2,q\n3,\n4,s\n"},
		{"with old", ok(ok(tb.Select("id", "b")).With(FromFloats("id", []float64{1, math.NaN(), math.Inf(-1), math.Copysign(0, -1)}))),
			"id,b\n1.0,True\n,False\n-inf,True\n-0.0,True\n"},
		{"sort", ok(ok(tb.SortBy("f")).Select("id", "f")), "id,f\n3,1e-05\n1,0.5\n4,2.0\n2,\n"},
		{"sort two", ok(ok(tb.SortBy("b", "f")).Select("id")), "id\n2\n3\n1\n4\n"},
		{"single empty field", ok(tb.Slice(2, 4).Select("s")), "s\n\"\"\né\n"},
	} {
		if diff := cmp.Diff(tc.want, text(t, tc.got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", tc.name, diff)
		}
	}
}

func TestNoColumn(t *testing.T) {
	tb := read(t, sample, ReadOptions{})
	_, err := tb.Select("id", "nope")
	var missing *NoColumnError
	if !errors.As(err, &missing) || missing.Name != "nope" {
		t.Fatalf("got %v", err)
	}
	if want := `table has no column "nope" (columns: id, n, f, s, b)`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	for name, f := range map[string]func() (*Table, error){
		"drop":   func() (*Table, error) { return tb.Drop("nope") },
		"rename": func() (*Table, error) { return tb.Rename("nope", "x") },
		"sort":   func() (*Table, error) { return tb.SortBy("nope") },
		"twice":  func() (*Table, error) { return tb.Select("id", "id") },
		"length": func() (*Table, error) { return tb.With(FromInts("x", []int64{1})) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestConcat follows pandas 2.2.3 concat of two one-column frames.
func TestConcat(t *testing.T) {
	one := map[string]*Column{
		"int": FromInts("c", []int64{1, -2}), "uint": FromUints("c", []uint64{math.MaxUint64, 1}),
		"float": FromFloats("c", []float64{1.5, math.NaN()}), "bool": FromBools("c", []bool{true, false}, nil),
		"text": FromTexts("c", []string{"x", ""}, []bool{true, false}), "gap": FromFloats("c", []float64{math.NaN(), math.NaN()}),
		"other": FromInts("d", []int64{7, 8}), "none": FromTexts("c", nil, nil),
	}
	for _, tc := range []struct {
		a, b string
		kind Kind
		want string
	}{
		{"int", "int", Int64, "c\n1\n-2\n1\n-2\n"},
		{"int", "uint", Float64, "c\n1.0\n-2.0\n1.8446744073709552e+19\n1.0\n"},
		{"uint", "uint", Uint64, "c\n18446744073709551615\n1\n18446744073709551615\n1\n"},
		{"int", "float", Float64, "c\n1.0\n-2.0\n1.5\n\"\"\n"},
		{"int", "gap", Float64, "c\n1.0\n-2.0\n\"\"\n\"\"\n"},
		{"int", "bool", Int64, "c\n1\n-2\n1\n0\n"},
		{"bool", "bool", Bool, "c\nTrue\nFalse\nTrue\nFalse\n"},
		{"bool", "text", Mixed, "c\nTrue\nFalse\nx\n\"\"\n"},
		{"text", "int", Mixed, "c\nx\n\"\"\n1\n-2\n"},
		{"text", "gap", Text, "c\nx\n\"\"\n\"\"\n\"\"\n"},
		{"text", "none", Text, "c\nx\n\"\"\n"},
		{"int", "other", Float64, "c,d\n1.0,\n-2.0,\n,7.0\n,8.0\n"},
		{"bool", "other", Bool, "c,d\nTrue,\nFalse,\n,7.0\n,8.0\n"},
	} {
		ok := must(t)
		got := ok(Concat(ok(New(one[tc.a])), ok(New(one[tc.b]))))
		c, _ := got.Column("c")
		if diff := cmp.Diff(tc.want, text(t, got)); diff != "" || c.Kind() != tc.kind {
			t.Errorf("%s and %s: %v, want %v, -want +got\n%s", tc.a, tc.b, c.Kind(), tc.kind, diff)
		}
	}
}

func TestFromValues(t *testing.T) {
	i, f, b, s := IntValue(5), FloatValue(0.5), BoolValue(true), TextValue("x")
	for _, tc := range []struct {
		in   []Value
		kind Kind
		want string
	}{
		{[]Value{i, i}, Int64, "5 5"},
		{[]Value{i, {}}, Float64, "5.0 "},
		{[]Value{i, f}, Float64, "5.0 0.5"},
		{[]Value{UintValue(math.MaxUint64), i}, Uint64, "18446744073709551615 5"},
		{[]Value{b, {}}, Bool, "True "},
		{[]Value{s, {}}, Text, "x "},
		{[]Value{{}, {}}, Float64, " "},
		{[]Value{i, s, b, f, {}}, Mixed, "5 x True 0.5 "},
	} {
		c := FromValues("c", tc.in)
		if got := strings.Join(c.Texts(), " "); got != tc.want || c.Kind() != tc.kind {
			t.Errorf("%v: got %v %q, want %v %q", tc.in, c.Kind(), got, tc.kind, tc.want)
		}
	}
}

// TestBulk reads columns of several vectors through every accessor.
func TestBulk(t *testing.T) {
	tb := read(t, "n,f,s\n1,0.5,a\n2,,b\n3,1.5,\n4,2.5,d\n5,3.5,e\n", ReadOptions{})
	n, f, s := tb.cols[0], tb.cols[1], tb.cols[2]
	for _, c := range tb.cols {
		c.vecs, c.shift = cut(c.vecs[0], 1), 1
	}
	nan := math.NaN()
	for _, tc := range []struct{ got, want any }{
		{n.Ints(), []int64{1, 2, 3, 4, 5}},
		{n.Floats(), []float64{1, 2, 3, 4, 5}},
		{n.Slice(1, 4).Ints(), []int64{2, 3, 4}},
		{n.Slice(2, 4).Ints(), []int64{3, 4}},
		{n.Slice(3, 3).Ints(), []int64{}},
		{f.Floats(), []float64{0.5, nan, 1.5, 2.5, 3.5}},
		{tb.Take([]int{4, -1, 1}).cols[1].Floats(), []float64{3.5, nan, nan}},
		{tb.Take([]int{4, 0}).cols[0].Ints(), []int64{5, 1}},
		{s.Texts(), []string{"a", "b", "", "d", "e"}},
		{tb.Take([]int{4, -1}).cols[0].Texts(), []string{"5.0", ""}},
		{f.MissingCount(), 1},
		{s.MissingCount(), 1},
	} {
		if diff := cmp.Diff(tc.want, tc.got, cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

// cut returns the values of v in vectors of 1<<shift.
func cut(v *vector, shift int) (parts []*vector) {
	for all := v.values(); len(all) > 0; {
		n := min(len(all), 1<<shift)
		parts = append(parts, FromKind("", v.kind, all[:n]).vecs[0])
		all = all[n:]
	}
	return parts
}
