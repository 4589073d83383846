package table

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// taxi returns a CSV of eight columns: two strings, five floats of which two
// have all their digits, and an integer.
func taxi(rows int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	b.WriteString("key,fare_amount,pickup_datetime,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,passenger_count\n")
	for range rows {
		day := fmt.Sprintf("20%02d-%02d-%02d %02d:%02d:%02d", 9+r.IntN(7), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
		fmt.Fprintf(&b, "%s.%07d,%.1f,%s UTC,%v,%v,%.6f,%.6f,%d\n", day, r.IntN(1e7), 2.5+r.ExpFloat64()*10, day,
			-73.9+r.NormFloat64()/20, 40.7+r.NormFloat64()/20, -73.9+r.NormFloat64()/20, 40.7+r.NormFloat64()/20, r.IntN(7))
	}
	return b.Bytes()
}

var benchRows = []int{1_000, 30_000, 300_000}

func BenchmarkReadCSV(b *testing.B) {
	for _, rows := range benchRows {
		data := taxi(rows)
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadCSV(bytes.NewReader(data), ReadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchmarkWrite(b *testing.B, order func(*Table) *Table) {
	for _, rows := range benchRows {
		data := taxi(rows)
		t, err := ReadCSV(bytes.NewReader(data), ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		t = order(t)
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := WriteCSV(io.Discard, t, WriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWriteCSV(b *testing.B) {
	benchmarkWrite(b, func(t *Table) *Table { return t })
}

// BenchmarkWriteCSVShuffled writes rows in random order, as after a split.
func BenchmarkWriteCSVShuffled(b *testing.B) {
	benchmarkWrite(b, func(t *Table) *Table { return t.Take(rand.New(rand.NewPCG(2, 2)).Perm(t.Len())) })
}

func BenchmarkSortText(b *testing.B) {
	for _, rows := range benchRows {
		t, err := ReadCSV(bytes.NewReader(taxi(rows)), ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			for b.Loop() {
				if _, err := t.ArgSort("key"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
