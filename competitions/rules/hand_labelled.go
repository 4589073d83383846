package rules

import (
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

var handLabelled = Rule{
	Name:   "hand-labelled",
	Doc:    "Ids of test rows in code or in a model's words: predictions written, not computed.",
	Honest: "None is known.",
	begin: func(c *ruleCheck) visitor {
		return visitor{
			source: func(s *pysource.Source, tokens []pysource.Token) {
				first, seen, open := -1, map[string]bool{}, ""
				for i, t := range tokens {
					before := len(seen)
					switch key := strings.HasSuffix(open, "{") && i+1 < len(tokens) && tokens[i+1].Text == ":"; {
					case t.Kind == pysource.Op && strings.Contains("([{", t.Text):
						open += t.Text
					case t.Kind == pysource.Op && strings.Contains(")]}", t.Text):
						open = open[:max(0, len(open)-1)]
					case t.Kind == pysource.String:
						if c.ids.in(t.Value(), seen); c.ids.known[t.Value()] {
							seen[t.Value()] = true
						}
					case t.Kind == pysource.Number && key && c.ids.known[t.Text]: // of a dictionary
						seen[t.Text] = true
					}
					if first < 0 && len(seen) > before {
						first = t.Line
					}
				}
				if len(c.ids.known) > 0 && len(seen) >= c.ids.enough() {
					c.warn(at(s, first), s.Excerpt(first, first, 1), "The code has the ids of %d of %d test rows.", len(seen), len(c.ids.known))
				}
			},
			reply: func(p location, text string) {
				if len(c.ids.known) == 0 || c.ids.numbers {
					return
				}
				seen := map[string]bool{}
				if c.ids.in(text, seen); len(seen) >= c.ids.enough() {
					c.warn(p, text, "The model wrote the ids of %d of %d test rows.", len(seen), len(c.ids.known))
				}
			},
		}
	},
}
