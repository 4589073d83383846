package table_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// manyKinds is a table with a column of every kind and gaps.
func manyKinds(t testing.TB, n int) *table.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	ints, uints, floats, bools, texts, valid := make([]int64, n), make([]uint64, n), make([]float64, n), make([]bool, n), make([]string, n), make([]bool, n)
	for i := range n {
		ints[i], uints[i], floats[i] = int64(r.Uint64()), r.Uint64(), r.NormFloat64()
		if i%7 == 3 {
			floats[i] = math.NaN()
		}
		bools[i], texts[i], valid[i] = i%3 == 0, strings.Repeat("é", i%4), i%5 != 2
	}
	tbl, err := table.New(table.FromInts("i", ints), table.FromUints("u", uints), table.FromFloats("f", floats),
		table.FromBools("b", bools, valid), table.FromTexts("t", texts, valid))
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

func writeParts(t testing.TB, tbl *table.Table, part int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := table.NewParquetWriter(&buf, tbl)
	for lo := 0; lo < tbl.Len() && err == nil; lo += part {
		err = w.Write(tbl.Slice(lo, min(lo+part, tbl.Len())))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func csvOf(t testing.TB, tbl *table.Table) string {
	t.Helper()
	var buf bytes.Buffer
	if err := table.WriteCSV(&buf, tbl, table.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestParquetRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 70_001} {
		tbl := manyKinds(t, n)
		data := writeParts(t, tbl, 999)
		if !bytes.Equal(data, writeParts(t, tbl, 12_345)) {
			t.Errorf("%d rows: other parts give other bytes", n)
		}
		p, err := table.OpenParquet(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil || p.Len() != n {
			t.Fatalf("%v", err)
		}
		empty, err := p.Empty(p.Names())
		if err != nil {
			t.Fatal(err)
		}
		parts := []*table.Table{empty}
		err = p.Scan(t.Context(), p.Names(), func(part *table.Table) error {
			parts = append(parts, part)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := table.Concat(parts...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(csvOf(t, tbl), csvOf(t, got)); diff != "" {
			t.Errorf("%d rows: %s", n, diff)
		}
	}
}

// TestParquetContent asks that the digest tells tables apart that differ in one
// thing, and not files that hold the same.
func TestParquetContent(t *testing.T) {
	sum := func(tbl *table.Table, plain bool) string {
		data := writeParts(t, tbl, 10)
		if plain {
			var buf bytes.Buffer
			if err := table.WriteParquet(&buf, tbl); err != nil {
				t.Fatal(err)
			}
			data = buf.Bytes()
		}
		s, err := table.ParquetContent(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := func(c *table.Column) *table.Table {
		tbl, err := table.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return tbl
	}
	big := manyKinds(t, 100)
	tables := []*table.Table{
		big, big.Slice(0, 99), one(table.FromInts("a", []int64{1, 2})), one(table.FromInts("a", []int64{2, 1})), one(table.FromInts("b", []int64{1, 2})),
		one(table.FromFloats("a", []float64{1, 2})), one(table.FromTexts("a", []string{"1", "2"}, nil)), one(table.FromTexts("a", []string{"", "12"}, nil)),
		one(table.FromTexts("a", []string{"", "12"}, []bool{false, true})), one(table.FromBools("a", []bool{true, false}, nil)), one(table.FromBools("a", []bool{true, false}, []bool{true, false})),
		one(table.FromFloats("a", []float64{1, math.NaN()})), one(table.FromFloats("a", []float64{0})), one(table.FromFloats("a", []float64{math.Copysign(0, -1)})),
	}
	seen := map[string]int{}
	for i, tbl := range tables {
		s := sum(tbl, false)
		if j, ok := seen[s]; ok {
			t.Errorf("tables %d and %d have one digest", i, j)
		}
		seen[s] = i
		if plain := sum(tbl, true); plain != s {
			t.Errorf("table %d: %s and %s", i, s, plain)
		}
	}
}

var errFull = errors.New("disk full")

// fullAfter is a disk with space for some bytes.
type fullAfter int

func (f *fullAfter) Write(p []byte) (int, error) {
	if *f -= fullAfter(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestParquetWriterFails(t *testing.T) {
	tbl := manyKinds(t, 5000)
	for space := range 40 {
		left := fullAfter(space * space * 10)
		w, err := table.NewParquetWriter(&left, tbl)
		if err == nil {
			err = errors.Join(w.Write(tbl), w.Close())
		}
		if !errors.Is(err, errFull) {
			t.Errorf("%d bytes: %v", space*space*10, err)
		}
	}
}

// TestDamagedParquet asks that no damage makes a reader panic.
func TestDamagedParquet(t *testing.T) {
	good := writeParts(t, manyKinds(t, 300), 100)
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for n := range 400 {
		data := slices.Clone(good)
		for range 1 + n%3 {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
		if n%10 == 0 {
			data = data[:r.IntN(len(data))]
		}
		if _, err := table.ParquetContent(t.Context(), bytes.NewReader(data), int64(len(data))); err != nil {
			refused++
		}
	}
	if refused < 50 {
		t.Errorf("%d of 400 refused", refused)
	}
}
