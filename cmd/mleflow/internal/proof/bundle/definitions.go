package bundle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/engine/addr"
)

// definition is a competition as a step used it.
type definition struct {
	Competition string `json:"competition"`
	Version     string `json:"version"`
	// Kind is the kind of step that used it, Digest what of the definition
	// is in that step's key.
	Kind   string `json:"kind"`
	Digest string `json:"sha256"`
}

// account is what the derived documents of a bundle are made of.
type account struct {
	Run         Run `json:"run"`
	environment Environment
	records     []record
}

// definitions returns the definitions that steps used, sorted and each once.
func (a account) definitions() []definition {
	list := []definition{}
	for _, r := range a.records {
		if id := r.field("definition"); id != "" && r.field("competition") != "" {
			list = append(list, definition{r.field("competition"), r.field("version"), r.Kind, id})
		}
	}
	slices.SortFunc(list, func(a, b definition) int {
		return cmp.Or(strings.Compare(a.Competition, b.Competition), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Digest, b.Digest))
	})
	return slices.Compact(list)
}

// compareAddresses orders addresses as a lock file does.
func compareAddresses(a, b string) int {
	x, errX := addr.Parse(a)
	y, errY := addr.Parse(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}
