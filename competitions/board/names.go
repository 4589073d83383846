package board

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// number matches a number in a name; a minus counts only where a value begins.
var number = regexp.MustCompile(`(?:^|[=,\[])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?`)

// CompareNames orders names as people do, with the numbers in them by value: k1,
// k3, k27; lr=0.01, lr=0.1.
func CompareNames(a, b string) int {
	return cmp.Or(slices.CompareFunc(tokens(a), tokens(b), token.compare), strings.Compare(a, b))
}

// token is a number in a name or, before it, the text that has none.
type token struct {
	text  string
	value float64
	isNum bool
}

func (t token) compare(o token) int {
	switch {
	case t.isNum && o.isNum:
		return cmp.Compare(t.value, o.value)
	case t.isNum:
		return -1
	case o.isNum:
		return 1
	}
	return strings.Compare(t.text, o.text)
}

// tokens takes a name apart, the text byte by byte.
func tokens(name string) (list []token) {
	text := func(s string) {
		for i := range len(s) {
			list = append(list, token{text: s[i : i+1]})
		}
	}
	at := 0
	for _, m := range number.FindAllStringIndex(name, -1) {
		start := m[0]
		if strings.IndexByte("=,[", name[start]) >= 0 {
			start++
		}
		text(name[at:start])
		v, _ := strconv.ParseFloat(name[start:m[1]], 64) // infinite if out of range
		list, at = append(list, token{value: v, isNum: true}), m[1]
	}
	text(name[at:])
	return list
}
