package agent

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// The bounds of what is learnt from free text: the words of a column, their
// cells in all rows, and in how many rows a word must be.
const (
	mostWords    = 256
	leastWords   = 32
	mostCells    = 20_000_000
	rowsWithWord = 5
)

// words are the runs of letters and digits of a text, in lower case.
func words(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// frequentWords numbers the words that are in most rows of a column, the most
// frequent first, equals by their letters. A word that is in every row says
// nothing, and one that is in a few only is not learnt from.
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
