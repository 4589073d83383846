package ui

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
)

// changeTable is what differs between sides: their runs' variables, and the inputs of one
// attempt of each.
type changeTable struct {
	Names []string
	Rows  []changedInput
	// Same says why there is nothing.
	Same string
	// Changes are those of the pipelines' text from the first side to the others.
	Changes []change
}

// changedInput is an input that differs, by side.
type changedInput struct {
	Name   string
	Values []string
}

// sideFacts are the inputs of a side.
type sideFacts struct {
	inputs  map[string]string
	sources map[string][]byte
	run     string
}

// changed compares the inputs of the sides.
func (u *UI) changed(ctx context.Context, sides []*side) (t changeTable) {
	facts := make([]sideFacts, len(sides))
	names := map[string]bool{}
	for i, s := range sides {
		facts[i] = u.facts(ctx, s, sides)
		t.Names = append(t.Names, s.Name)
		for name := range facts[i].inputs {
			names[name] = true
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(names), board.CompareNames) {
		row := changedInput{Name: name}
		for _, f := range facts {
			row.Values = append(row.Values, oneLine(f.inputs[name], 400))
		}
		if len(slices.Compact(slices.Clone(row.Values))) > 1 {
			t.Rows = append(t.Rows, row)
		}
	}
	for i, f := range facts[1:] {
		if f.run != facts[0].run {
			t.Changes = append(t.Changes, sourceChanges(facts[0].sources, f.sources, sides[i+1].Name)...)
		}
	}
	if len(t.Rows)+len(t.Changes) == 0 {
		t.Same = "Nothing that is known: variables, pipeline, program, and the inputs of the attempts are the same."
	}
	return t
}

// facts returns the variables and the environment of a side's newest run, and the inputs of
// its attempt at a competition that all sides have.
func (u *UI) facts(ctx context.Context, s *side, sides []*side) sideFacts {
	f := sideFacts{inputs: map[string]string{}}
	one := s.sample(sides)
	if one == nil {
		return f
	}
	past, err := u.History.Open(one.RunID)
	if err != nil {
		return f
	}
	f.run = past.Info.ID
	f.sources, _ = past.Sources() // a run without them has none to compare
	for name, v := range past.Info.Variables {
		f.inputs["variable "+name] = string(v)
	}
	f.inputs["mleflow"], f.inputs["machine"], f.inputs["pipeline"] = past.Info.Version, strings.TrimSpace(past.Info.Host+" "+past.Info.OS), past.Info.Pipeline
	maps.Copy(f.inputs, past.Info.Environment)
	_ = u.Results(past, func(c Results) error { // what is gone is left out
		f.attempt(ctx, c, one)
		return nil
	})
	return f
}

// sample is an attempt at a competition that all sides have, with the lowest seed; nil if
// none is compared.
func (s *side) sample(sides []*side) *results.Attempt {
	if len(s.compared) == 0 {
		return nil
	}
	lacking := func(id string) (n int) {
		for _, other := range sides {
			n += board.Count(len(other.at(id)) == 0)
		}
		return n
	}
	in := map[string]int{}
	for id := range byCompetition(s.compared) {
		in[id] = lacking(id)
	}
	return slices.MinFunc(s.compared, func(a, b *results.Attempt) int {
		return cmp.Or(in[a.Competition()]-in[b.Competition()], board.CompareNames(a.Competition(), b.Competition()), results.CompareSeeds(a.Seed, b.Seed), strings.Compare(b.RunID, a.RunID))
	})
}

// attempt adds the models of an attempt and the fields of its key.
func (f *sideFacts) attempt(ctx context.Context, c Results, a *results.Attempt) {
	if use := a.Made.Usage; use != nil && use.Model != "" {
		f.inputs["models"] = use.Model
	}
	if rec, err := outputs.Lookup(ctx, c, a.AttemptAction); err == nil {
		for _, field := range rec.Fields {
			f.inputs["attempt: "+field.Label] = field.Value
		}
	}
}

// sourceChanges compares the text of two pipelines.
func sourceChanges(from, to map[string][]byte, side string) (list []change) {
	for _, name := range union(from, to) {
		a, inA := from[name]
		b, inB := to[name]
		if string(a) == string(b) && inA == inB || len(list) >= maxChanges {
			continue
		}
		c := change{Path: name, What: "as in " + view.OneLine(side)}
		if len(a) > maxCompared || len(b) > maxCompared {
			c.Note = "The file is too large to be compared here."
		} else {
			c.Lines = diffLines(lines(a), lines(b))
		}
		list = append(list, c)
	}
	return list
}

// union are the names of two maps, sorted.
func union[V any](a, b map[string]V) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}
