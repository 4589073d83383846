package agent

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// maxCategories is the maximum number of values of a text column that get columns of
// their own.
const maxCategories = 50

// matrix has rows of equal length, stored one after the other.
type matrix struct {
	rows, cols int
	data       []float64
}

func (m *matrix) row(i int) []float64 { return m.data[i*m.cols : (i+1)*m.cols] }

// encoder converts the cells of one column to numbers.
type encoder struct {
	column string
	// categories are the values of a text column with few distinct values.
	categories []string
	// words are the words of a free-text column that get columns of their own.
	words map[string]int
	// mean and scale standardise a numeric column. gap means that missing values get a
	// column of their own.
	mean, scale float64
	gap         bool
}

func (e *encoder) width() int {
	switch {
	case e.categories != nil:
		return len(e.categories)
	case e.words != nil:
		return len(e.words)
	case e.gap:
		return 2
	}
	return 1
}

// encoders learns from the training rows how to encode each feature. It omits and
// returns the columns that are constant and the text columns without a common word.
func encoders(train *frame, features []string) (use []encoder, ignored []string) {
	for _, name := range features {
		if e, ok := newEncoder(name, train.col(name)); ok {
			use = append(use, e)
		} else {
			ignored = append(ignored, name)
		}
	}
	return use, ignored
}

func newEncoder(name string, col []string) (encoder, bool) {
	e := encoder{column: name}
	var sum, squares float64
	n := 0
	for _, v := range col {
		x, ok := number(v)
		switch {
		case ok:
			sum += x
			n++
		case missing(v):
			e.gap = true
		default:
			if e.categories = distinct(col, maxCategories); e.categories == nil {
				e.words = frequentWords(col)
				return e, len(e.words) > 0
			}
			return e, len(e.categories) > 1
		}
	}
	if n == 0 {
		return e, false
	}
	e.mean = sum / float64(n)
	for _, v := range col {
		if x, ok := number(v); ok {
			d := x - e.mean
			squares += float64(d * d)
		}
	}
	e.scale = math.Sqrt(squares / float64(n))
	return e, e.scale > 0
}

func missing(v string) bool {
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "", "na", "n/a", "nan", "null", "none", "?":
		return true
	}
	return false
}

// encode writes the numbers for a cell. Standardised numbers are clipped at 10, so that
// one outlier does not dominate.
func (e *encoder) encode(cell string, out []float64) {
	if e.categories != nil {
		if i := slices.Index(e.categories, cell); i >= 0 {
			out[i] = 1
		}
		return
	}
	if e.words != nil {
		for word := range words(cell) {
			if i, known := e.words[word]; known {
				out[i] = 1
			}
		}
		return
	}
	x, ok := number(cell)
	if ok {
		out[0] = max(-10, min(10, (x-e.mean)/e.scale))
	} else if e.gap {
		out[1] = 1
	}
}

// encodeAll converts the rows of a frame to numbers.
func encodeAll(f *frame, use []encoder) (*matrix, error) {
	width := 0
	for i := range use {
		width += use[i].width()
	}
	if width == 0 {
		return nil, fmt.Errorf("no column of %s is a number, has at most %d values or is text", f.file, maxCategories)
	}
	m := &matrix{rows: f.rows(), cols: width, data: make([]float64, f.rows()*width)}
	at := 0
	for i := range use {
		e := &use[i]
		w := e.width()
		for r, cell := range f.col(e.column) {
			e.encode(cell, m.row(r)[at:at+w])
		}
		at += w
	}
	return m, nil
}

// Limits of learning from free text: the maximum number of words per column, the number
// that is always allowed, the maximum number of their cells in all rows, and the
// minimum number of rows that contain a word.
const (
	mostWords    = 256
	leastWords   = 32
	mostCells    = 20_000_000
	rowsWithWord = 5
)

// words yields the runs of letters and digits in a string, in lower case.
func words(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// frequentWords numbers the words that occur in the most rows of a column. The most
// frequent word comes first, and ties are in alphabetical order. A word that is in
// every row carries no information, and one that is in only a few rows is not worth
// learning.
func frequentWords(col []string) map[string]int {
	in := make(map[string]int)
	for _, text := range col {
		once := make(map[string]bool)
		for word := range words(text) {
			once[word] = true
		}
		for word := range once {
			in[word]++
		}
	}
	maps.DeleteFunc(in, func(_ string, rows int) bool { return rows < rowsWithWord || rows == len(col) })
	list := slices.SortedFunc(maps.Keys(in), func(a, b string) int {
		return cmp.Or(cmp.Compare(in[b], in[a]), cmp.Compare(a, b))
	})
	list = list[:min(len(list), mostWords, max(leastWords, mostCells/len(col)))]
	numbers := make(map[string]int, len(list))
	for i, word := range list {
		numbers[word] = i
	}
	return numbers
}
