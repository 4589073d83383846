package spill_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/spill"
)

// Records come in the order of their keys, those of one key as they were added,
// however little memory there is; and no file is left.
func TestSorter(t *testing.T) {
	var want []string
	for i := range 2000 {
		want = append(want, fmt.Sprintf("%03d %s %d", i*7919%331, strings.Repeat("x", i%5), i))
	}
	key := func(text string) string { return text[:3] }
	for _, memory := range []int{1, 30, 1000, 20_000, 1 << 30} {
		dir := t.TempDir()
		s := spill.Sorter{Memory: memory, Temp: func() (*os.File, error) { return spill.File(dir) }}
		for _, text := range want {
			if err := s.Add([]byte(key(text)), []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		if err := s.Each(func(k, value []byte) error {
			if got = append(got, string(value)); string(k) != key(string(value)) {
				t.Errorf("key %q, value %q", k, value)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		sorted := slices.Clone(want)
		slices.SortStableFunc(sorted, func(a, b string) int { return strings.Compare(key(a), key(b)) })
		if !slices.Equal(got, sorted) {
			t.Errorf("memory %d: the order is wrong", memory)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
			t.Errorf("memory %d: left %v, %v", memory, list, err)
		}
	}
}

func TestSorterOfEmptyParts(t *testing.T) {
	s := spill.Sorter{Memory: 1, Temp: func() (*os.File, error) { return spill.File(t.TempDir()) }}
	defer s.Close()
	for i := range uint64(3) {
		if err := s.Add(nil, binary.AppendUvarint(nil, i)[:i%2]); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if err := s.Each(func(k, _ []byte) error { n += 1 + len(k); return nil }); err != nil || n != 3 {
		t.Errorf("%d records, %v", n, err)
	}
}
