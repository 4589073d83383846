package prep

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/transform"
)

// Uses returns the names of the verbs and of the kinds of output that the
// prepare block of a definition is written with, each sorted.
func Uses(def *competitions.Definition) (verbs, outputs []string) {
	body, ok := def.Prepare.Body.(*hclsyntax.Body)
	if !ok {
		return nil, nil
	}
	var knownVerbs, knownOutputs []string
	for _, v := range transform.Verbs() {
		knownVerbs = append(knownVerbs, v.Name)
	}
	for _, k := range outputKinds() {
		knownOutputs = append(knownOutputs, k.name)
	}
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch x := n.(type) {
		case *hclsyntax.FunctionCallExpr:
			if slices.Contains(knownVerbs, x.Name) {
				verbs = append(verbs, x.Name)
			}
		case *hclsyntax.Block:
			if slices.Contains(knownOutputs, x.Type) {
				outputs = append(outputs, x.Type)
			}
		}
		return nil
	})
	return sortedSet(verbs), sortedSet(outputs)
}

func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
