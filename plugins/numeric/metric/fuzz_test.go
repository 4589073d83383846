package metric

import (
	"strings"
	"testing"
)

// FuzzLevenshtein compares with the table of distances.
func FuzzLevenshtein(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Add("", "abc")
	f.Add(strings.Repeat("ab", 70), strings.Repeat("ba", 65)+"x")
	f.Add(strings.Repeat("a", 64), "b"+strings.Repeat("a", 63))
	f.Add(strings.Repeat("xyz", 43), strings.Repeat("xz", 64))
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 400 || len(b) > 400 {
			return
		}
		if got, want := levenshteinOf([]rune(a), []rune(b)), slowDistance([]rune(a), []rune(b)); got != want {
			t.Errorf("Levenshtein(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func slowDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// FuzzDecodeRLE compares with a picture painted run by run.
func FuzzDecodeRLE(f *testing.F) {
	for _, s := range []string{"", " ", "1 3", "1 3 4 2", "1 3 3 1", "5 1 2 1", "+1 0_2", "30 9", "31 4 99 1", "5", "1 5 2", "1 2 3 4 5", "0 1", "1 0", "1.0 2", "99999999999999999999 1", "1 99999999999999999999", "31 2 31 2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const size = 30
		mask, err := decodeRLE(text, size)
		want, ok := paint(text, size)
		if ok != (err == nil) {
			t.Fatalf("%q: got error %v, want one: %v", text, err, !ok)
		}
		if !ok {
			return
		}
		got := make([]bool, size)
		for _, r := range mask.Runs {
			for p := r[0]; p < r[1]; p++ {
				got[p] = true
			}
		}
		area := 0
		for p := range want {
			if got[p] != want[p] {
				t.Fatalf("%q: pixel %d is %v", text, p, got[p])
			}
			if want[p] {
				area++
			}
		}
		if mask.Area() != area || mask.Shared(mask) != area {
			t.Errorf("%q: area %d, shared %d, want %d", text, mask.Area(), mask.Shared(mask), area)
		}
	})
}

func paint(text string, size int) ([]bool, bool) {
	picture := make([]bool, size)
	starts, lengths, err := readRuns(text)
	if err != nil {
		return nil, false
	}
	for i, start := range starts {
		for k := 0; k < lengths[i] && start-1+k < size; k++ {
			if picture[start-1+k] && (i > 0) {
				return nil, false
			}
		}
		for k := 0; k < lengths[i] && start-1+k < size; k++ {
			picture[start-1+k] = true
		}
	}
	return picture, true
}
