package ui

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/agentrun"
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
	past, err := u.Ledger.Open(one.run)
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
		f.attempt(ctx, c, past, one.address)
		return nil
	})
	return f
}

// sample is an attempt at a competition that all sides have, with the lowest seed.
func (s *side) sample(sides []*side) sideAttempt {
	shared := func(a sideAttempt) int {
		for _, other := range sides {
			if len(other.at(a.CompetitionID)) == 0 {
				return 1
			}
		}
		return 0
	}
	in := map[string]int{}
	for _, a := range s.attempts {
		if _, known := in[a.CompetitionID]; !known {
			in[a.CompetitionID] = shared(a)
		}
	}
	return slices.MinFunc(s.attempts, func(a, b sideAttempt) int {
		return cmp.Or(in[a.CompetitionID]-in[b.CompetitionID], board.CompareNames(a.CompetitionID, b.CompetitionID), results.CompareSeeds(a.Labels["seed"], b.Labels["seed"]), strings.Compare(b.run, a.run))
	})
}

// attempt adds the inputs of the attempt that a step graded, which has the same key.
func (f *sideFacts) attempt(ctx context.Context, c Results, past *ledger.Past, grade string) {
	for e, err := range past.Finished(conditions.AttemptKind) {
		if err != nil || addr.KeyOf(e.Address) != addr.KeyOf(grade) || e.Status != event.Ran && e.Status != event.Cached {
			continue
		}
		var stats agentrun.Stats
		if decode(e.Outputs["stats"], &stats) {
			for _, name := range sortedKeys(stats.Models) {
				f.inputs["models of "+name] = strings.Join(stats.Models[name].Models, ", ")
			}
		}
		id, err := digest.ParseActionID(e.Action)
		if err != nil {
			return
		}
		rec, err := c.Lookup(ctx, id)
		if err != nil {
			return
		}
		for _, field := range rec.Fields {
			f.inputs["attempt: "+field.Label] = field.Value
		}
		return
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
