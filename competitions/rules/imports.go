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
		case t.Kind == pysource.Keyword && t.Text == "import":
			list = append(list, importedNames(tokens, i+1, "", t.Line)...)
		case t.Kind == pysource.Keyword && t.Text == "from":
			module, next := dotted(tokens, i+1)
			if next < len(tokens) && tokens[next].Text == "import" {
				i = next
				list = append(append(list, importedNames(tokens, next+1, module, t.Line)...), imported{module: module, line: t.Line})
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

// dotted reads a dotted name.
func dotted(tokens []pysource.Token, i int) (name string, next int) {
	var b strings.Builder
	for ; i < len(tokens) && (tokens[i].Kind == pysource.Name || tokens[i].Text == "." || tokens[i].Text == "..."); i++ {
		b.WriteString(tokens[i].Text)
	}
	return b.String(), i
}

// importedNames reads "a.b as c, d", in brackets or not, after the import of a module's
// names, or of modules if the module is "".
func importedNames(tokens []pysource.Token, i int, module string, line int) (list []imported) {
	for ; i < len(tokens) && tokens[i].Kind != pysource.Newline && tokens[i].Text != ";"; i++ {
		name, next := dotted(tokens, i)
		if name == "" {
			continue
		}
		one := imported{module, name, name, line}
		if module == "" {
			one.module, one.name = name, ""
		}
		if i = next - 1; next+1 < len(tokens) && tokens[next].Text == "as" {
			one.local = tokens[next+1].Text
			i = next + 1
		}
		list = append(list, one)
	}
	return list
}

// isCall reports whether token i is a name that is called.
func isCall(tokens []pysource.Token, i int) bool {
	return tokens[i].Kind == pysource.Name && i+1 < len(tokens) && tokens[i+1].Text == "(" && !(i > 0 && tokens[i-1].Text == "def")
}
