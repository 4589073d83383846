package agent

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// form is the form of the answer for a target.
type form int

const (
	// label is the most likely class.
	label form = iota
	// chance is the probability of the second of two classes.
	chance
	// spread is the probability of each class, in a column each.
	spread
	// value is a number.
	value
)

func (f form) String() string {
	return [...]string{"class", "probability", "probabilities", "number"}[f]
}

// problem is the competition's problem, inferred from its files.
type problem struct {
	// ids are the columns of the submission that are copied from the sample.
	ids      []string
	features []string
	targets  []target
}

// target is a quantity to predict.
type target struct {
	// column is its column in train.csv.
	column  string
	form    form
	classes []string
	// fills are the columns of the submission that it fills.
	fills []string
}

// Bounds for distinguishing classes from numbers.
const (
	maxClasses      = 500
	maxNumericClass = 20
	minRowsAClass   = 5
)

// infer infers the problem from the columns. The columns that the sample submission and
// test.csv share are ids, and the other columns of the sample are targets. The other
// columns that train.csv and test.csv share are features.
func infer(train, test, sample *frame) (*problem, error) {
	p := &problem{}
	var open []string
	for i, name := range sample.names {
		if test.has(name) || i == 0 && !train.has(name) {
			p.ids = append(p.ids, name)
		} else {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return nil, fmt.Errorf("understand the task: %s has no column that is missing in %s", sample.file, test.file)
	}
	if err := p.findTargets(train, test, sample, open); err != nil {
		return nil, err
	}
	for _, name := range train.names {
		if test.has(name) && !slices.Contains(p.ids, name) {
			p.features = append(p.features, name)
		}
	}
	if len(p.features) == 0 {
		return nil, fmt.Errorf("understand the task: %s and %s share no columns to learn from", train.file, test.file)
	}
	return p, nil
}

func (p *problem) findTargets(train, test, sample *frame, open []string) error {
	for _, name := range train.names {
		if test.has(name) || sample.has(name) {
			continue
		}
		classes := distinct(train.col(name), maxClasses)
		if sameSet(classes, open) {
			p.targets = []target{{column: name, form: spread, classes: classes, fills: classes}}
			return nil
		}
	}
	for _, name := range open {
		if !train.has(name) {
			return fmt.Errorf("understand the task: column %q of %s is neither a column of %s nor one of its classes", name, sample.file, train.file)
		}
		t, err := direct(name, train.col(name), sample.col(name))
		if err != nil {
			return err
		}
		p.targets = append(p.targets, t)
	}
	return nil
}

// direct chooses the form of a target that has the same name in train.csv and in the
// sample submission.
func direct(name string, col, sample []string) (target, error) {
	t := target{column: name, fills: []string{name}, classes: distinct(col, maxClasses)}
	numeric, whole := true, true
	for _, v := range col {
		x, ok := number(v)
		numeric = numeric && ok
		whole = whole && ok && x == math.Trunc(x)
	}
	few := len(t.classes) > 0 && len(t.classes) <= maxNumericClass && len(col) >= minRowsAClass*len(t.classes)
	switch {
	case len(t.classes) == 2 && fractions(sample, t.classes):
		t.form = chance
	case numeric && !(whole && few):
		t.form, t.classes = value, nil
	case t.classes == nil:
		return t, fmt.Errorf("understand the task: column %q has more than %d different strings", name, maxClasses)
	}
	return t, nil
}

// fractions reports whether the sample has numbers other than the classes.
func fractions(sample, classes []string) bool {
	return slices.ContainsFunc(distinct(sample, maxClasses), func(v string) bool {
		_, ok := number(v)
		return ok && !slices.Contains(classes, v)
	})
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return len(a) > 1 && slices.Equal(a, b)
}

// number parses a finite number.
func number(s string) (float64, bool) {
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}

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
	out := slices.Sorted(maps.Keys(seen))
	if !slices.ContainsFunc(out, func(v string) bool { _, numeric := number(v); return !numeric }) {
		slices.SortStableFunc(out, func(a, b string) int {
			x, _ := number(a)
			y, _ := number(b)
			return cmp.Compare(x, y)
		})
	}
	return out
}
