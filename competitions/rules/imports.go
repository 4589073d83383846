package rules

import (
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

// imported is one name that is imported: from module import name as local, or import module
// as local.
type imported struct {
	module, name, local string
	line                int
}

// imports returns the imports of a source: statements, and calls of importlib and
// __import__ with a literal.
func imports(tokens []pysource.Token) (list []imported) {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.Kind == pysource.Keyword && t.Text == "import" && !follows(tokens, i, "from"):
			list = append(list, plainImport(tokens, i+1, t.Line)...)
		case t.Kind == pysource.Keyword && t.Text == "from":
			module, next := dotted(tokens, i+1)
			if next < len(tokens) && tokens[next].Text == "import" {
				list = append(list, fromImport(tokens, next+1, module, t.Line)...)
			}
		case t.Kind == pysource.Name && (t.Text == "import_module" || t.Text == "__import__") && i+2 < len(tokens) && tokens[i+1].Text == "(":
			if name := tokens[i+2].Value(); name != "" {
				list = append(list, imported{module: name, local: assigned(tokens, i), line: t.Line})
			}
		}
	}
	return list
}

// assigned returns the name to which the call at token i is assigned; "" if to none.
func assigned(tokens []pysource.Token, i int) string {
	if i > 1 && tokens[i-1].Text == "." {
		i -= 2
	}
	if i > 1 && tokens[i-1].Text == "=" {
		return tokens[i-2].Text
	}
	return ""
}

// follows reports whether the statement of token i begins with a keyword.
func follows(tokens []pysource.Token, i int, keyword string) bool {
	for i--; i >= 0 && tokens[i].Kind != pysource.Newline && tokens[i].Text != ";"; i-- {
		if tokens[i].Kind == pysource.Keyword && tokens[i].Text == keyword {
			return true
		}
	}
	return false
}

// dotted reads a dotted name.
func dotted(tokens []pysource.Token, i int) (name string, next int) {
	var b strings.Builder
	for ; i < len(tokens) && (tokens[i].Kind == pysource.Name || tokens[i].Text == "." || tokens[i].Text == "..."); i++ {
		b.WriteString(tokens[i].Text)
	}
	return b.String(), i
}

// plainImport reads "a.b as c, d".
func plainImport(tokens []pysource.Token, i, line int) (list []imported) {
	for {
		name, next := dotted(tokens, i)
		if name == "" {
			return list
		}
		one := imported{module: name, local: name, line: line}
		for i = next; i < len(tokens) && tokens[i].Kind != pysource.Newline && tokens[i].Text != ","; i++ {
			one.local = tokens[i].Text
		}
		list = append(list, one)
		if i >= len(tokens) || tokens[i].Text != "," {
			return list
		}
		i++
	}
}

// fromImport reads "a as b, c", in brackets or not.
func fromImport(tokens []pysource.Token, i int, module string, line int) (list []imported) {
	renamed := false
	for ; i < len(tokens) && tokens[i].Kind != pysource.Newline && tokens[i].Text != ";"; i++ {
		switch t := tokens[i]; {
		case t.Text == "as":
			renamed = true
		case t.Kind == pysource.Name && renamed:
			list[len(list)-1].local = t.Text
		case t.Kind == pysource.Name:
			list = append(list, imported{module, t.Text, t.Text, line})
		case t.Text == ",":
			renamed = false
		}
	}
	return append(list, imported{module: module, line: line})
}

// isCall reports whether token i is a name that is called.
func isCall(tokens []pysource.Token, i int) bool {
	return tokens[i].Kind == pysource.Name && i+1 < len(tokens) && tokens[i+1].Text == "(" && !(i > 0 && tokens[i-1].Text == "def")
}
