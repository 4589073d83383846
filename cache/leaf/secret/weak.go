package secret

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// shortest is the length of the shortest value that is masked.
const shortest = 8

// The information that a value must have to be masked, in bits: the entropy of its
// characters times their number. An ordinary word rarely has digits or unusual
// characters, so less is enough for a value with characters of two kinds.
const (
	leastBits      = 32
	leastMixedBits = 20
)

// placeholders are the words that stand where a server wants some key.
var placeholders = strings.Fields(`a abc admin any anything api apikey bearer blank changeme default demo do dummy empty example fake false foo bar
	free here insert irrelevant is key llama lm local localhost me mock my na name needed nil no nokey none nonempty not nothing null ollama
	open openai or pass password placeholder please replace required secret set sk some string studio test testing the this to token true
	unused use used user value vllm whatever x xx xxx xxxx xxxxxxxx your`)

// Weak reports whether a value cannot be a credential, so that it is neither masked
// nor searched for: it would be found in ordinary text. A value is weak if it has
// less than 8 bytes, if it consists of placeholders (none, EMPTY, sk-test,
// not-needed) and of numbers such as 1234, or if it has little information: less
// than 32 bits, or 20 if it has two kinds of letters, digits and symbols but
// separators.
func Weak(value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < shortest || placeholder(value) {
		return true
	}
	least := leastBits
	if mixed(value) {
		least = leastMixedBits
	}
	return bits(value) < float64(least)
}

// WeakText says of a weak value why it is not masked.
const WeakText = "it is too weak, a placeholder, a word or a short number that ordinary text has, too; if it protects anything, use a longer random value"

// Bare reports whether a value is Weak but not empty, so that it stays readable.
func Bare(value string) bool { return strings.TrimSpace(value) != "" && Weak(value) }

// placeholder reports whether a value has only words that stand for any key, and
// numbers that count up.
func placeholder(value string) bool {
	wordEnd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for part := range strings.FieldsFuncSeq(strings.ToLower(value), wordEnd) {
		word := strings.TrimRightFunc(part, unicode.IsDigit)
		if word != "" && !slices.Contains(placeholders, word) || !counting(part[len(word):]) {
			return false
		}
	}
	return true
}

// counting reports whether digits are few or follow each other, as in 123456.
func counting(digits string) bool {
	for i := 1; i < len(digits) && len(digits) > 4; i++ {
		if step := (digits[i] - digits[i-1] + 10) % 10; step > 1 {
			return false
		}
	}
	return true
}

// mixed reports whether a value has two kinds of letters, digits and symbols.
func mixed(value string) bool {
	kinds := map[string]bool{}
	for _, r := range value {
		switch {
		case unicode.IsLetter(r):
			kinds["letter"] = true
		case unicode.IsDigit(r):
			kinds["digit"] = true
		case !strings.ContainsRune("-_. ", r):
			kinds["symbol"] = true
		}
	}
	return len(kinds) > 1
}

// bits returns the entropy of a value's bytes times their number.
func bits(value string) (sum float64) {
	var count [256]float64
	for i := range len(value) {
		count[value[i]]++
	}
	for _, n := range count {
		if n > 0 {
			sum -= n * math.Log2(n/float64(len(value)))
		}
	}
	return sum
}
