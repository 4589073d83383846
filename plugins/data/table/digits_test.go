package table

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzPatterns cuts records with patterns and without, which must give the same
// fields.
func FuzzPatterns(f *testing.F) {
	for i, s := range []string{
		"0,1,0,0,1\n9,9,9,9,9,\n", "0.5,0.25\n1.5,22.25\n.5,1.\n", "0.123456789,9.123456789,2.147483647,2.147483648\n",
		"0.1x,0x1,0.12345678:,:.5\n\n \n1", "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6", "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,",
		"a,1,0.5\n-1,-0.5,+0.5\n1,1,1,1,1,1,1,1,1\n", "0;0;0/0:0;0\n",
	} {
		f.Add([]byte(s), "\x01\x01\x01\x01\x01", uint8(i))
		f.Add([]byte(s), "\x00\x01\x02\x03\x0a\x0a", uint8(i))
		f.Add([]byte(s), "\x0a\x0a\x0a\x0a", uint8(i))
	}
	f.Fuzz(func(t *testing.T, raw []byte, patterns string, n uint8) {
		if len(patterns) == 0 || bytes.ContainsAny(raw, "\r\"\x00") {
			return
		}
		plain := tokenizer{dialect: dialect{comma: ",;\t |"[n%5], quote: '"'}, raw: raw, plain: true, most: len(patterns) + int(n>>6)}
		regular := plain
		regular.regular = true
		var a, b batch
		for _, s := range []byte(patterns) {
			b.patterns = append(b.patterns, pattern(s)%(oneDigit+10))
		}
		b.regular()
		a.raw, b.raw = raw, raw
		for plain.record(&a) {
			if !regular.record(&b) {
				t.Fatal("records are missing")
			}
			if plain.pos != regular.pos || plain.lines != regular.lines || plain.wide != regular.wide || len(a.spans) != len(b.spans) {
				t.Fatalf("%d spans, then %+v, with patterns %d and %+v", len(a.spans), plain, len(b.spans), regular)
			}
			for i, s := range b.spans {
				text := a.cell(a.spans[i])
				if !s.isNumber() {
					if s != a.spans[i] {
						t.Fatalf("field %d is %q, with patterns %q", i, text, b.cell(s))
					}
					continue
				}
				if want, ok := parsePlain(text); !ok || s.number() != want {
					t.Fatalf("%q was read as %+v", text, s.number())
				}
			}
			if plain.wide {
				return
			}
			a.spans, b.spans = a.spans[:0], b.spans[:0]
		}
		if regular.record(&b) {
			t.Fatal("there are too many records")
		}
	})
}

// TestPatterns compares a table of numbers, of which some rows are odd, with the
// same table next to a column that is in quotes, which is read without patterns.
func TestPatterns(t *testing.T) {
	const columns = 8
	rng := rand.New(rand.NewPCG(7, 7))
	row := func() []string {
		cells := make([]string, columns)
		for c := range cells {
			switch {
			case c < columns/2:
				cells[c] = fmt.Sprint(rng.IntN(10))
			default:
				cells[c] = fmt.Sprintf("%.*f", 9*(c%2)+3*(1-c%2), rng.Float64()*2)
			}
		}
		return cells
	}
	for _, odd := range []struct {
		name string
		edit func(cells []string) []string
	}{
		{"none", func(c []string) []string { return c }},
		{"wide integer", func(c []string) []string { c[1] = "1000"; return c }},
		{"negative", func(c []string) []string { c[0], c[5] = "-1", "-0.25"; return c }},
		{"missing", func(c []string) []string { c[2], c[6] = "", ""; return c }},
		{"text", func(c []string) []string { c[0], c[7] = "a", "0.1.2"; return c }},
		{"longer", func(c []string) []string { c[4], c[5] = "0.12345", "0.1234567891"; return c }},
		{"too long", func(c []string) []string { c[4], c[5] = "123456789.123", "0.12345678901234567"; return c }},
		{"large", func(c []string) []string { c[5], c[7] = "2.147483648", "9.999999999"; return c }},
		{"exponent", func(c []string) []string { c[4], c[5] = "1e-3", "0.5E300"; return c }},
		{"infinite", func(c []string) []string { c[4], c[5] = "inf", "NaN"; return c }},
		{"integer among decimals", func(c []string) []string { c[4], c[5] = "1", "-0"; return c }},
		{"short row", func(c []string) []string { return c[:5] }},
		{"long row", func(c []string) []string { return append(c, "1", "0.5") }},
	} {
		t.Run(odd.name, func(t *testing.T) {
			var plain, quoted strings.Builder
			for i := range 9000 {
				cells := row()
				if i == 0 {
					cells = strings.Split("abcdefgh", "")
				}
				if i > 3000 && i%888 == 0 {
					cells = odd.edit(cells)
				}
				line := strings.Join(cells, ",") + "\n"
				fmt.Fprintf(&plain, "x,%s", line)
				fmt.Fprintf(&quoted, "\"x\",%s", line)
			}
			for _, o := range []ReadOptions{{}, {Floats: Fast}} {
				o.chunkCells = 1 << 17 // 8192 rows, of which the first few are sampled
				want, err := ReadCSV(strings.NewReader(quoted.String()), o)
				got, err2 := ReadCSV(strings.NewReader(plain.String()), o)
				if fmt.Sprint(err) != fmt.Sprint(err2) {
					t.Fatalf("error %v, without patterns %v", err2, err)
				}
				if err != nil {
					continue
				}
				for k, c := range want.Columns() {
					d := got.Columns()[k]
					same := slices.Equal(floatBits(c), floatBits(d))
					if c.Kind() == Text || c.Kind() == Mixed {
						same = slices.Equal(c.Texts(), d.Texts())
					}
					if c.Kind() != d.Kind() || !same {
						t.Errorf("column %d: %v differs from %v", k, d.Kind(), c.Kind())
					}
				}
			}
		})
	}
}

func floatBits(c *Column) []uint64 {
	out := make([]uint64, c.Len())
	for i, x := range c.Floats() {
		out[i] = math.Float64bits(x)
	}
	return out
}
