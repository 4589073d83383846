package app

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/competitions"
)

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
			ids := []string{}
			for i, arg := range args {
				text := arg.AsString()
				members, err := catalog.ParseList(text)
				if !strings.Contains(text, "\n") && !slices.Contains(catalog.IDs(), text) {
					members, err = catalog.Set(competitions.Set(text))
				}
				if err != nil {
					return cty.NilVal, function.NewArgError(i, err)
				}
				ids = append(ids, members...)
			}
			slices.Sort(ids)
			return gocty.ToCtyValue(slices.Compact(ids), cty.List(cty.String))
		},
	})
}
