package site

import (
	"cmp"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
)

func channels(list []bundle.Channel) (out []string) {
	for _, c := range list {
		out = append(out, c.Text)
	}
	return out
}

// outside lists the inputs of an agent's attempts from outside their competitions.
func (a *Agent) outside() cell {
	e := cell{Text: cmp.Or(strings.Join(a.Outside, "; "), "–")}
	for _, r := range a.rows {
		for _, c := range r.Outside {
			if c.Answers {
				e = pill(e.Text, "warn")
			}
		}
	}
	return e
}
