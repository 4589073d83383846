package rules

import (
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

var providerSearch = Rule{
	Name:   "provider-search",
	Doc:    "Refused requests for the provider to search the web, fetch pages or files, or run code.",
	Honest: "Agent programs declare such tools whatever the task.",
	begin: func(c *ruleCheck) visitor {
		seen := map[dialect.Ability]bool{}
		return visitor{turn: func(p location, t *transcript.Turn) {
			if t.Refused == "" || t.Ability == "" || seen[t.Ability] {
				return
			}
			seen[t.Ability] = true
			c.note(p, t.Asked, "The request was refused: it would have let the provider use %s. This is the first of its kind.", t.Ability)
		}}
	},
}
