package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/ledger"
)

// Environment lists the inputs of a run and its machine.
func Environment(i ledger.Info) []Fact {
	facts := []Fact{{Name: "mleflow", Value: i.Version}, {Name: "machine", Value: strings.TrimSpace(i.Host + " " + i.OS)}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{Name: name, Value: value})
		}
	}
	if i.CPUs > 0 {
		add("processors", fmt.Sprintf("%g", i.CPUs))
	}
	if i.MemoryBytes > 0 {
		add("memory", view.Bytes(i.MemoryBytes))
	}
	add("GPUs", strings.Join(i.GPUs, ", "))
	add("started as", strings.Join(i.Argv, " "))
	add("pipeline", i.Pipeline)
	for _, name := range slices.Sorted(maps.Keys(i.Variables)) {
		add("variable "+name, string(i.Variables[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(i.Environment)) {
		add(name, i.Environment[name])
	}
	add("continues", i.Resumed)
	return facts
}
