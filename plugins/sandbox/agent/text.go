package agent

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"
)

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
