package transform

import (
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// chanceVerbs draw from Python's generator.
var chanceVerbs = []Verb{pythonShuffleVerb, pythonSampleVerb, pythonChoiceVerb}

// PythonState is a generator of Python's random module at some point of its
// stream. Drawing leaves it as it is and gives the state after the draw. The
// zero value is random.Random(0).
type PythonState struct {
	seed  int64
	after *random.Python // never drawn from; nil: freshly seeded
}

// SeedPython is random.Random(seed).
func SeedPython(seed int64) PythonState { return PythonState{seed: seed} }

// generator returns a generator that starts at the state.
func (s PythonState) generator() *random.Python {
	if s.after == nil {
		return random.NewPython(s.seed)
	}
	return s.after.Clone()
}

// draw holds the rows drawn and the generator after the draw.
type draw struct {
	Rows Rows        `verb:"rows"`
	Next PythonState `verb:"next"`
}

// pythonOptions are the options of python_shuffle and python_choice.
type pythonOptions struct {
	RandomState PythonState `verb:"random_state"`
}

const drawDetail = "The result has rows and next, the generator after the draw. random_state is a seed (0), or an earlier draw's next."

var pythonShuffleVerb = Verb{
	Name: "python_shuffle", Params: []string{"rows", "options"},
	Summary: "The rows as Python's random shuffles a list.",
	Detail:  drawDetail,
	Source:  "random.Random(random_state).shuffle(rows)",
	Func: func(rows Rows, o *pythonOptions) draw {
		g := o.RandomState.generator()
		return draw{rows.Take(random.Permutation(g, rows.Len())), PythonState{after: g}}
	},
}

// pythonSampleOptions are the options of python_sample.
type pythonSampleOptions struct {
	RandomState PythonState `verb:"random_state"`
	Repeat      *int        `verb:"repeat"`
}

var pythonSampleVerb = Verb{
	Name: "python_sample", Params: []string{"rows", "count", "options"},
	Summary: "count rows drawn without replacement by Python's random, in that order.",
	Detail:  drawDetail + " repeat = n joins n samples of all rows.",
	Source:  "random.Random(random_state).sample(rows, count)",
	Func: func(rows Rows, count int, o *pythonSampleOptions) (draw, error) {
		g, repeat := o.RandomState.generator(), 1
		if o.Repeat != nil {
			repeat = *o.Repeat
		}
		if repeat < 0 {
			return draw{}, fmt.Errorf("python_sample: repeat = %d is negative", repeat)
		}
		var at []int
		for range repeat {
			drawn, err := g.Sample(rows.Len(), count)
			if err != nil {
				return draw{}, fmt.Errorf("python_sample: %w", err)
			}
			at = append(at, drawn...)
		}
		return draw{rows.Take(at), PythonState{after: g}}, nil
	},
}

// Option is a value to choose, or a list of options to choose from again.
type Option struct {
	Value table.Value
	Among Options
}

// Options are the values to choose from.
type Options []Option

var pythonChoiceVerb = Verb{
	Name: "python_choice", Params: []string{"rows", "options", "random"},
	Summary: "One of the options for each row, drawn with replacement by Python's random.",
	Detail:  "From an option that is a list, a member is drawn next." + drawDetail,
	Source:  "[random.choice(options) for _ in rows]",
	Func: func(rows Rows, options Options, o *pythonOptions) (draw, error) {
		g := o.RandomState.generator()
		cells := make([]table.Value, rows.Len())
		for i := range cells {
			v, err := options.choose(g)
			if err != nil {
				return draw{}, fmt.Errorf("python_choice: %w", err)
			}
			cells[i] = v
		}
		return draw{ColumnRows{table.FromValues("choice", cells)}, PythonState{after: g}}, nil
	},
}

func (o Options) choose(g *random.Python) (table.Value, error) {
	for {
		i, err := g.Choice(len(o))
		switch {
		case err != nil:
			return table.Value{}, errors.New("the list of options is empty")
		case o[i].Among == nil:
			return o[i].Value, nil
		}
		o = o[i].Among
	}
}
