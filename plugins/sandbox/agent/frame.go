package agent

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// frame is a CSV file in memory, column by column, as strings.
type frame struct {
	file  string
	names []string
	cols  [][]string
}

// readFrame reads a CSV file with a header. From a file with more than most rows it
// keeps a uniform sample of most rows, drawn by rng. If most is 0, it keeps all rows.
func readFrame(dir, name string, most int, rng *rand.Rand) (*frame, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.ReuseRecord = true
	r.LazyQuotes = true
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("read %s: header: %w", name, err)
	}
	f := &frame{file: name, names: slices.Clone(header), cols: make([][]string, len(header))}
	f.names[0] = strings.TrimPrefix(f.names[0], "\ufeff")
	for seen := 1; ; seen++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		f.keep(row, seen, most, rng)
	}
}

// keep adds a row. Once the frame is full, the row replaces a random one with the right
// probability.
func (f *frame) keep(row []string, seen, most int, rng *rand.Rand) {
	at := f.rows()
	if most > 0 && at == most {
		if at = rng.IntN(seen); at >= most {
			return
		}
	}
	for c := range f.cols {
		cell := strings.Clone(row[c])
		if at < len(f.cols[c]) {
			f.cols[c][at] = cell
		} else {
			f.cols[c] = append(f.cols[c], cell)
		}
	}
}

func (f *frame) rows() int { return len(f.cols[0]) }

func (f *frame) has(name string) bool { return slices.Contains(f.names, name) }

// col returns a column, or nil.
func (f *frame) col(name string) []string {
	if i := slices.Index(f.names, name); i >= 0 {
		return f.cols[i]
	}
	return nil
}

// distinct returns the sorted distinct values of a column. If all are numbers, they are
// sorted as numbers, otherwise as strings. It returns nil if there are more than most.
func distinct(col []string, most int) []string {
	seen := make(map[string]bool)
	for _, v := range col {
		if !seen[v] {
			if len(seen) == most {
				return nil
			}
			seen[v] = true
		}
	}
	out := make([]string, 0, len(seen))
	numeric := true
	for v := range seen {
		out = append(out, v)
		_, ok := number(v)
		numeric = numeric && ok
	}
	slices.Sort(out)
	if numeric {
		slices.SortStableFunc(out, func(a, b string) int {
			x, _ := number(a)
			y, _ := number(b)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
	return out
}
