package shim

import (
	"cmp"
	"slices"
	"strconv"
)

// Group stands for the records of one call at one place in the agent's code.
type Group struct {
	Kind Kind   `json:"kind"`
	Call string `json:"call"`
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Times is the number of its records in the log.
	Times int `json:"times"`
}

// Place returns the file and, if it is known, the line.
func (g Group) Place() string {
	switch {
	case g.File == "":
		return "not known"
	case g.Line == 0:
		return g.File
	}
	return g.File + ":" + strconv.Itoa(g.Line)
}

// maxGroups limits the size of a Tally, because an agent can invent places.
const maxGroups = 100

// Tally counts records.
type Tally struct {
	groups map[Group]int
	// Others is the number of records beyond the groups of the Tally.
	Others int
}

// Add counts a record.
func (t *Tally) Add(r Record) {
	g := Group{Kind: r.Kind, Call: r.Call, File: r.File, Line: r.Line}
	if _, ok := t.groups[g]; !ok && len(t.groups) == maxGroups {
		t.Others++
		return
	}
	if t.groups == nil {
		t.groups = map[Group]int{}
	}
	t.groups[g]++
}

// Groups returns the groups, the most frequent first.
func (t *Tally) Groups() []Group {
	list := make([]Group, 0, len(t.groups))
	for g, times := range t.groups {
		g.Times = times
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Call, b.Call), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
