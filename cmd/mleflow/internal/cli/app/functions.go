package app

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/competitions"
)

// functions are what the program adds to the language of pipelines.
func functions(catalog *competitions.Catalog) map[string]function.Function {
	return map[string]function.Function{"competitions": competitionsFunc(catalog)}
}

// competitionsFunc returns competitions("low", …): the identifiers of the
// competitions in the named sets and lists, sorted, each once; of all 75
// without an argument. An argument of one line is the name of a set, unless it
// is a competition's; one of several lines is a list, as file("my.txt") gives.
func competitionsFunc(catalog *competitions.Catalog) function.Function {
	return function.New(&function.Spec{
		Description: "Returns the identifiers of the competitions in the given sets, sorted, each once: low (also called lite), medium, high, all (those three), dev, systemcard, demo. Without a set, all. A set may also be the identifier of one competition, or the text of a list of them, one a line: competitions(file(\"my.txt\")). In a list, blank lines and everything after a # are ignored.",
		VarParam:    &function.Parameter{Name: "sets", Type: cty.String},
		Type:        function.StaticReturnType(cty.List(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) == 0 {
				args = []cty.Value{cty.StringVal("all")}
			}
			var ids []string
			for i, arg := range args {
				members, err := setOrList(catalog, arg.AsString())
				if err != nil {
					return cty.NilVal, function.NewArgError(i, err)
				}
				ids = append(ids, members...)
			}
			slices.Sort(ids)
			return listOf(slices.Compact(ids)), nil
		},
	})
}

func setOrList(catalog *competitions.Catalog, text string) ([]string, error) {
	if strings.Contains(text, "\n") || slices.Contains(catalog.IDs(), text) {
		return catalog.ParseList(text)
	}
	return catalog.Set(competitions.Set(text))
}

func listOf(texts []string) cty.Value {
	if len(texts) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	values := make([]cty.Value, len(texts))
	for i, text := range texts {
		values[i] = cty.StringVal(text)
	}
	return cty.ListVal(values)
}
