package table

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
)

// allocated returns how many bytes a call allocates in all, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLimits reads files that ask for far more than they have bytes. Without
// limits the first takes 150 bytes of memory for each of its own.
func TestLimits(t *testing.T) {
	const memory = 8 << 20
	for _, tt := range []struct {
		name, in, want string
	}{
		{"commas", strings.Repeat(",", 4<<20), "line 1: more than 262144 fields"},
		{"commas in the second line", "a,b\n" + strings.Repeat(",", 4<<20), "line 2: more than 262144 fields"},
		{"commas in a later line", "a,b\n1,2\n" + strings.Repeat(",", 4<<20), "line 3: more than 262144 fields"},
		{"names", strings.Repeat("abc,", 1<<20), "line 1: more than 262144 fields"},
		{"empty quotes", strings.Repeat(`"",`, 1<<20), "line 1: more than 262144 fields"},
		{"one too many", strings.Repeat("a,", maxColumns) + "a\n", "line 1: more than 262144 fields"},
		{"short records", strings.Repeat("a,", 999) + "a\n" + strings.Repeat("1\n", 1<<20), "bytes of memory"},
		{"many columns", strings.Repeat("a,", 1<<16) + "a\n1\n", "bytes of memory"},
		{"wide records", strings.Repeat("a,", 999) + "a\n" + strings.Repeat(strings.Repeat(",", 999)+"\n", 2000), "bytes of memory"},
		{"rows", "a,b\n" + strings.Repeat("1,2\n", 1<<20), "bytes of memory"},
		{"text", "a,b\n1," + strings.Repeat("x", 9<<20), "bytes of memory"},
		{"mixed", "a\n" + strings.Repeat("1\nx\n2.5\nTrue\n", 1<<19), "bytes of memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			got := allocated(func() { _, err = ReadCSV(strings.NewReader(tt.in), ReadOptions{Memory: memory}) })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if most := uint64(200<<20 + 8*len(tt.in)); got > most {
				t.Errorf("reading %d bytes allocated %d bytes, more than %d", len(tt.in), got, most)
			}
		})
	}
	whole := strings.Repeat("a,", 999) + "a\n" + strings.Repeat("1,", 999) + "1\n"
	if tb, err := ReadCSV(strings.NewReader(whole), ReadOptions{Memory: memory}); err != nil || len(tb.Columns()) != 1000 {
		t.Errorf("a table within the limit: %v", err)
	}
}

// FuzzMemory looks for short files that take much memory to read.
func FuzzMemory(f *testing.F) {
	fuzzSeeds(f)
	f.Add([]byte(strings.Repeat(",", 4000)), uint16(0))
	f.Add([]byte("a,b,c,d,e,f,g,h\n"+strings.Repeat("1\n", 2000)), uint16(0))
	f.Add([]byte("a\n"+strings.Repeat("1\nx\n\n2.5\nTrue\n", 400)), uint16(1<<14))
	f.Fuzz(func(t *testing.T, in []byte, n uint16) {
		o := fuzzOptions(n)
		o.Memory = 1 << 30
		got := allocated(func() { _, _ = ReadCSV(bytes.NewReader(in), o) })
		// A short record is filled up: 4096 cells at most for two bytes, and of
		// these no more than 2^20 or 16 a byte.
		most := uint64(8<<20 + 400*len(in) + 100*min(1<<20, 4096*bytes.Count(in, []byte{'\n'})+4096*bytes.Count(in, []byte{'\r'})))
		if got > most {
			t.Fatalf("reading %d bytes allocated %d bytes, more than %d", len(in), got, most)
		}
	})
}
