package table

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCanonicalFloat looks at decimals of all lengths, near doubles and not.
func TestCanonical(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	yes, quick := 0, 0
	for i := range 300_000 {
		v := []float64{-73.98 + r.NormFloat64()/30, r.Float64(), r.ExpFloat64() * 1e6, float64(r.IntN(1e6)) / 1000,
			math.Ldexp(1+r.Float64()/1e15, r.IntN(60)-10), math.Ldexp(r.Float64(), r.IntN(2000)-1000)}[i%6]
		text := strconv.AppendFloat(nil, v, 'f', r.IntN(22)-1, 64)
		if i%5 == 0 && len(text) > 1 { // one unit off in the last place
			text[len(text)-1] = '0' + (text[len(text)-1]-'0'+1)%10
		}
		if checkCanonical(t, text) {
			yes++
		}
		if canonical(text) {
			quick++
		}
	}
	if yes < 50_000 || quick < yes/2 {
		t.Errorf("%d of 300,000 are written as they were read, %d of them found quickly", yes, quick)
	}
}

// checkCanonical compares a yes with what the formatter makes, and reports whether
// that is the text.
func checkCanonical(t *testing.T, text []byte) bool {
	t.Helper()
	d, ok := rules{}.double(text)
	if !ok {
		return false
	}
	want := FormatFloat(d.f) == string(text)
	if canonical(text) && !want {
		t.Fatalf("%q is canonical, but written as %s", text, FormatFloat(d.f))
	}
	return want
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"0.0", "-0.0", "0.1", "0.10", "5", "5.0", "05.0", "-73.98123456789012", "9007199254740993.0", "1e22", "0.0001", "0.00001", "4503599627370496.5", ".5", "5."} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkCanonical(t, text) })
}

// sameTable compares retained lines with columns that were read at once: first
// what is written, then the values, then what is written again.
func sameTable(t *testing.T, kept, plain *Table, rows []int) {
	t.Helper()
	views := []func(*Table) *Table{
		func(tb *Table) *Table { return tb },
		func(tb *Table) *Table { return tb.Take(rows) },
		func(tb *Table) *Table { return tb.Slice(tb.Len()/3, tb.Len()) },
		func(tb *Table) *Table { return tb.Take(rows).Slice(0, len(rows)/2) },
		func(tb *Table) *Table { drop, _ := tb.Drop(tb.Names()[0]); return drop },
		func(tb *Table) *Table {
			names := tb.Names()
			slices.Reverse(names)
			back, _ := tb.Select(names...)
			return back
		},
		func(tb *Table) *Table {
			wide, _ := tb.With(FromInts("another one", make([]int64, tb.Len())), tb.cols[0].Rename("once more"))
			return wide.Take(rows)
		},
	}
	options := []WriteOptions{{}, {Index: true}, {Quoting: QuoteNonNumeric}, {Quoting: QuoteAll, Index: true}, {Comma: '1'}, {FloatFormat: "%.3f"}}
	for range 2 {
		for i, view := range views {
			for _, o := range options[:min(len(options), 1+len(options)*(i/3))] {
				a, b := written(t, view(kept), o), written(t, view(plain), o)
				if !bytes.Equal(a, b) {
					t.Fatalf("view %d, %+v: wrote\n%q, want\n%q", i, o, a, b)
				}
			}
		}
		for i, c := range slices.Concat(kept.Columns(), kept.Index()) {
			d := slices.Concat(plain.Columns(), plain.Index())[i]
			if c.Name() != d.Name() || c.Kind() != d.Kind() {
				t.Fatalf("column %q of kind %v, want %q of %v", c.Name(), c.Kind(), d.Name(), d.Kind())
			}
			if a, b := c.Values(), d.Values(); !slices.Equal(a, b) {
				t.Fatalf("column %q: %v, want %v", c.Name(), a, b)
			}
			if a, b := c.Texts(), d.Texts(); !slices.Equal(a, b) {
				t.Fatalf("column %q: %q, want %q", c.Name(), a, b)
			}
		}
	}
}

func FuzzKeep(f *testing.F) {
	fuzzSeeds(f)
	f.Add([]byte("a,b,c,d\n1,0.5,x,True\n2,1.50,\"y,\",False\n3,,,true\n-0,1e3,\"z\"\"\",\n"), uint16(0))
	f.Add([]byte("a,b\n1,\"x\ry\"\r\n+2,\"x\"y\n\n 3 ,NA\n"), uint16(1<<14))
	f.Fuzz(func(t *testing.T, in []byte, n uint16) {
		o := fuzzOptions(n)
		o.Floats = RoundTrip
		plain, err := ReadCSV(bytes.NewReader(in), o)
		o.RetainLines = true
		kept, err2 := ReadCSV(bytes.NewReader(in), o)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("errors %v and %v", err, err2)
		}
		if err != nil || len(plain.Columns()) == 0 {
			return
		}
		rows := rand.New(rand.NewPCG(1, uint64(n))).Perm(plain.Len())
		for i := range rows {
			if i%7 == 6 {
				rows[i] = -1
			}
		}
		sameTable(t, kept, plain, rows)
		o.File, o.window = bytes.NewReader(in), 3
		if kept, err = ReadCSV(bytes.NewReader(in), o); err != nil {
			t.Fatal(err)
		}
		sameTable(t, kept, plain, rows)
	})
}

// TestKeep reads files of several chunks, of which some cells are not written
// as they are read.
func TestKeep(t *testing.T) {
	for name, odd := range map[string]string{
		"as written":             "7,0.25,a,True",
		"zeros":                  "07,-0.2500,a,True",
		"signs and blanks":       "+7, 1.5 ,a,TRUE",
		"exponents and integers": "-0,1e-7,a,false\n1,12,b,true\n1,1E5,c,True",
		"missing":                "1,,,True\n2,NaN,NA,False",
		"quotes":                 "\"1\",\"0.5\",\"a,b\",\"True\"\n2,0.5,\"a\"\"b\",True\n3,1.5,\"\",False\n4,2.5,a\"b,True\n5,3.5,\"a\nb\"c,True",
		"carriage returns":       "1,1.5,\"a\rb\",True\r\n2,2.5,x,True\r",
		"another kind":           "1.5,x,a,1",
		"a missing integer":      ",1.5,a,True",
		"a missing boolean":      "1,1.5,a,",
		"short":                  "1\n2,1.5\n\n  \n3",
	} {
		t.Run(name, func(t *testing.T) {
			var in strings.Builder
			in.WriteString("n,f,s,b\n")
			for i := range 2000 {
				fmt.Fprintf(&in, "%d,%v,text %d,%s\n", i, float64(i)/7, i, []string{"True", "False"}[i%2])
				if i%450 == 449 {
					in.WriteString(odd + "\n")
				}
			}
			for _, cells := range []int{0, 4 * 2 * 64} {
				o := ReadOptions{chunkCells: cells}
				plain := read(t, in.String(), o)
				o.RetainLines = true
				sameTable(t, read(t, in.String(), o), plain, rand.New(rand.NewPCG(3, 3)).Perm(plain.Len()))
			}
		})
	}
}

// TestKeepIsLazy checks that a table that is only written makes no columns,
// and that one column can be made alone.
func TestKeepIsLazy(t *testing.T) {
	var in strings.Builder
	in.WriteString("n,f,s\n")
	for i := range 500_000 {
		fmt.Fprintf(&in, "%d,%v,text %d\n", i, float64(i)/8, i)
	}
	tb := read(t, in.String(), ReadOptions{RetainLines: true})
	made := func() (made []bool) {
		for _, c := range tb.cols[0].retained.columns {
			made = append(made, c != nil)
		}
		return made
	}
	written(t, tb, WriteOptions{})
	if diff := cmp.Diff([]bool{false, false, false}, made()); diff != "" {
		t.Errorf("after writing: -want +got\n%s", diff)
	}
	if sum := tb.cols[1].Float(16) + tb.cols[1].Float(400_000); sum != 50_002 {
		t.Errorf("sum %v", sum)
	}
	if diff := cmp.Diff([]bool{false, true, false}, made()); diff != "" {
		t.Errorf("after reading a column: -want +got\n%s", diff)
	}
}

// TestMinusZero reads -0 among integers with a gap, which pandas takes for 0.
func TestMinusZero(t *testing.T) {
	in := "n,x\n" + strings.Repeat("-0,1\n", 5000) + ",1\n"
	for _, keep := range []bool{false, true} {
		tb := read(t, in, ReadOptions{RetainLines: keep})
		if out := string(written(t, tb, WriteOptions{})); !strings.HasPrefix(out, "n,x\n0.0,1\n") || tb.cols[0].Kind() != Float64 {
			t.Errorf("keep %v: %v %.20q", keep, tb.cols[0].Kind(), out)
		}
	}
}

// TestStored reads tables whose lines stay in their file, in windows of few rows, and
// compares them with tables that were read at once.
func TestStored(t *testing.T) {
	for name, odd := range map[string]string{
		"as written":            "7,0.25,a,True",
		"numbers and blanks":    "+7, 1.50 ,a,TRUE\n\n  \n-0,1e-7,a,false\n1,12,,true\n3,NaN,NA,True",
		"a quote":               "7,0.25,\"a,\"\"b\",True",
		"a carriage return":     "7,0.25,a,True\r",
		"another kind":          "1.5,x,a,1",
		"short":                 "1,2.5\n2,1.5,,",
		"a long line":           "1,1.5," + strings.Repeat("x", math.MaxUint16) + ",True",
		"many that are changed": strings.Repeat("1,1.50,a,true\n", 600) + "1,1,a,True",
	} {
		t.Run(name, func(t *testing.T) {
			var in strings.Builder
			in.WriteString("\ufeffn,f,s,b\n")
			for i := range 2000 {
				fmt.Fprintf(&in, "%d,%v,text %d,%s\n", i, float64(i)/7, i, []string{"True", "False"}[i%2])
				if i%450 == 449 {
					in.WriteString(odd + "\n")
				}
			}
			in.WriteString("1,1.5,the end,True")
			for _, cells := range []int{0, 4 * 2 * 64} {
				o := ReadOptions{chunkCells: cells}
				plain := read(t, in.String(), o)
				o.RetainLines, o.File, o.window = true, strings.NewReader(in.String()), 333
				rows := rand.New(rand.NewPCG(3, 3)).Perm(plain.Len())
				for i := range rows {
					switch i % 9 {
					case 5:
						rows[i] = -1
					case 7, 8:
						rows[i] = rows[i-1] // the same row again
					}
				}
				kept := read(t, in.String(), o)
				if c := kept.cols[2].retained; cells > 0 && name == "as written" && (c == nil || c.window == nil) {
					t.Error("the lines are not in the file")
				}
				sameTable(t, kept, plain, rows)
			}
		})
	}
}

// TestStoredErrors has files that changed, or cannot be read again.
func TestStoredErrors(t *testing.T) {
	in := "n,s\n" + strings.Repeat("1,abc\n", 1000)
	for name, later := range map[string]string{"short": in[:2000], "gone": "", "changed": strings.ReplaceAll(in, ",", "\"")} {
		t.Run(name, func(t *testing.T) {
			file := []byte(in)
			tb := read(t, in, ReadOptions{RetainLines: true, File: bytes.NewReader(file[:len(later)]), chunkCells: 128})
			copy(file, later)
			for _, o := range []WriteOptions{{}, {Quoting: QuoteAll}} {
				if err := WriteCSV(&bytes.Buffer{}, tb, o); (err == nil) != (name == "changed") {
					t.Errorf("%+v: %v", o, err)
				}
			}
			if n := len(tb.cols[1].Texts()); n != 1000 {
				t.Errorf("%d texts", n)
			}
		})
	}
}
