package winnow

import (
	"hash/fnv"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

// token is a normalised token.
type token struct {
	code uint32 // hash of what it is
	line int32  // index of its line in the file
}

// codes of what is normalised.
var (
	nameCode    = code("name")
	literalCode = code("literal")
	commaCode   = code("op ,")
)

func code(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// normalise returns the tokens that stand for a file.
//
// Names are all the same, but for an attribute that the code does not define
// (local): that is what a library is asked for. Literals are the same, and a
// list of them is one. Left out are line breaks, imports, strings that are
// statements (docstrings), calls of print that are statements, and commas
// before a closing bracket.
func normalise(tokens []pysource.Token, local map[string]bool) []token {
	var out []token
	for len(tokens) > 0 {
		n := 0
		for n < len(tokens) && tokens[n].Kind != pysource.Newline {
			n++
		}
		if statement := tokens[:n]; !idle(statement) {
			out = appendStatement(out, statement, local)
		}
		tokens = tokens[min(n+1, len(tokens)):]
	}
	return out
}

// idle reports whether a logical line is left out.
func idle(s []pysource.Token) bool {
	if len(s) == 0 {
		return true
	}
	switch first := s[0]; {
	case first.Kind == pysource.Keyword && (first.Text == "import" || first.Text == "from"):
		return true
	case first.Kind == pysource.Name && first.Text == "print":
		return len(s) > 1 && s[1].Text == "(" && s[len(s)-1].Text == ")"
	}
	return !slices.ContainsFunc(s, func(t pysource.Token) bool { return t.Kind != pysource.String })
}

func appendStatement(out []token, s []pysource.Token, local map[string]bool) []token {
	begin := len(out)
	for i, t := range s {
		c := codeOf(s, i, local)
		if t.Kind == pysource.Op && len(out) > begin && out[len(out)-1].code == commaCode && (t.Text == ")" || t.Text == "]" || t.Text == "}") {
			out = out[:len(out)-1]
		}
		if n := len(out) - begin; c == literalCode && n > 0 {
			last := out[len(out)-1].code
			if last == literalCode {
				continue // strings side by side are one
			}
			if n > 1 && last == commaCode && out[len(out)-2].code == literalCode {
				out = out[:len(out)-1]
				continue
			}
		}
		out = append(out, token{c, int32(t.Line)})
	}
	return out
}

func codeOf(s []pysource.Token, i int, local map[string]bool) uint32 {
	switch t := s[i]; t.Kind {
	case pysource.Number, pysource.String:
		return literalCode
	case pysource.Name:
		if i > 0 && s[i-1].Text == "." && s[i-1].Kind == pysource.Op && !local[t.Text] {
			return code("." + t.Text)
		}
		return nameCode
	case pysource.Keyword:
		if t.Text == "True" || t.Text == "False" || t.Text == "None" {
			return literalCode
		}
		return code("keyword " + t.Text)
	default:
		return code("op " + t.Text)
	}
}

// define adds the names that code gives itself: functions, classes, and
// attributes that it assigns.
func define(local map[string]bool, tokens []pysource.Token) {
	for i, t := range tokens {
		if t.Kind != pysource.Name || i == 0 {
			continue
		}
		before := tokens[i-1]
		switch {
		case before.Kind == pysource.Keyword && (before.Text == "def" || before.Text == "class"):
			local[t.Text] = true
		case before.Text == "." && i+1 < len(tokens) && tokens[i+1].Kind == pysource.Op && assigns(tokens[i+1].Text):
			local[t.Text] = true
		}
	}
}

func assigns(op string) bool { return op == "=" || op == ":" || op == "+=" || op == "-=" }
