package transform

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/split"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

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
		g, repeat := o.RandomState.generator(), orDefault(o.Repeat, 1)
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
		cells, err := table.TryCollect(rows.Len(), func(int) (table.Value, error) { return options.choose(g) })
		if err != nil {
			return draw{}, fmt.Errorf("python_choice: %w", err)
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

var drawClozeVerb = Verb{
	Name: "draw_cloze", Params: []string{"lines", "share", "options"},
	Summary: "Draws a share of lines, and from each a word to leave out: a table of position (of the line), line and word (its position in the line).",
	Detail:  "A line is taken if a number drawn from 0 to 1 is at most share and it has three words or more, split at white space. Then a word of it is drawn, neither the first nor the last. lines are of a file or a column of strings.",
	Source:  "g = numpy.random.RandomState(random_state); g.uniform() <= share, then g.randint(1, len(line.split()) - 1)",
	Func:    drawCloze,
}

func drawCloze(lines Rows, share float64, o *randomOptions) (*table.Table, error) {
	g := random.NewRandomState(uint32(o.RandomState))
	var positions, words []int64
	var texts []string
	row := int64(-1)
	err := eachLine(lines, func(line []byte) error {
		row++
		if g.Uniform(0, 1) > share {
			return nil
		}
		text := string(line)
		n := len(pytext.Fields(text))
		if n < 3 {
			return nil
		}
		word, err := g.Integer(1, int64(n-1))
		positions, words, texts = append(positions, row), append(words, word), append(texts, text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("draw_cloze: %w", err)
	}
	return table.New(table.FromInts("position", positions), table.FromTexts("line", texts, nil), table.FromInts("word", words))
}

// eachLine visits the lines of a file, or the cells of a column of strings.
func eachLine(lines Rows, visit func(line []byte) error) error {
	switch r := lines.(type) {
	case *Lines:
		return r.each(func(line []byte, _ bool) error { return visit(line) })
	case ColumnRows:
		for i := range r.Len() {
			if r.Kind() != table.Text || r.IsMissing(i) {
				return fmt.Errorf("row %d is not a string", i)
			}
			if err := visit([]byte(r.Text(i))); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("expected the lines of a file or a column of strings")
}

var removeWordVerb = Verb{
	Name: "remove_word", Params: []string{"string", "position"},
	Summary: "The words of a string, split at white space, without that at a position, from 0, joined by spaces.",
	Detail:  "A position without a word is an error.",
	Source:  "\" \".join(words[:position] + words[position + 1:]) with words = string.split()",
	Func: func(texts *table.Column, place Operand) (*table.Column, error) {
		if n := place.Len(); n >= 0 && n != texts.Len() {
			return nil, fmt.Errorf("remove_word: the columns have %d and %d rows", texts.Len(), n)
		}
		row := -1
		out, err := mapText(Operand{Column: texts}, func(s string) (string, error) {
			row++
			words := pytext.Fields(s)
			at := place.at(row).Int()
			if at < 0 || at >= int64(len(words)) {
				return "", fmt.Errorf("remove_word: there is no word %d among %d words", at, len(words))
			}
			return strings.Join(slices.Delete(words, int(at), int(at)+1), " "), nil
		})
		return out.Column, err
	},
}

var omitVerb = Verb{
	Name: "omit", Params: []string{"rows", "positions"},
	Summary: "The rows but those at the positions, from 0, in order.",
	Source:  "numpy.delete(rows, positions)",
	Func: func(rows Rows, positions *table.Column) (Rows, error) {
		gone := newSelector(rows.Len())
		omitted, err := rowsAt("omit", positions, rows.Len())
		if err != nil {
			return nil, err
		}
		for _, at := range omitted {
			gone.set[at>>6] |= 1 << (at & 63)
		}
		return pickRows(rows, func(position int) bool { return !gone.has(position) }), nil
	},
}

// splitOptions are the options of train_test_split.
type splitOptions struct {
	TestSize    *float64      `verb:"test_size"`
	TrainSize   *float64      `verb:"train_size"`
	RandomState int           `verb:"random_state"`
	Shuffle     *bool         `verb:"shuffle"`
	Stratify    *table.Column `verb:"stratify"`
	Fold        int           `verb:"fold"`
}

// parts are the two results of a split.
type parts struct {
	Train Rows `verb:"train"`
	Test  Rows `verb:"test"`
}

var trainTestSplitVerb = Verb{
	Name: "train_test_split", Params: []string{"rows", "options"},
	Summary: "The rows shuffled and split into train and test.",
	Detail:  "test_size and train_size are shares below 1 or numbers of rows; a test share is rounded up, a train share down. random_state is the seed (0). Both parts keep the shuffled order. shuffle = false does not shuffle; stratify is a column whose proportions both parts keep. fold = n is split n, from 0, of ShuffleSplit or StratifiedShuffleSplit, at most 1000.",
	Source:  "sklearn.model_selection.train_test_split, ShuffleSplit, StratifiedShuffleSplit (1.5)",
	Func:    trainTestSplit,
}

func trainTestSplit(rows Rows, o *splitOptions) (parts, error) {
	opts := split.Options{Seed: int64(o.RandomState), Unshuffled: isFalse(o.Shuffle), Before: o.Fold}
	if o.Fold < 0 || o.Fold > 1000 || o.Fold > 0 && opts.Unshuffled {
		return parts{}, fmt.Errorf("train_test_split: fold = %d: it is between 0 and 1000, and 0 for shuffle = false", o.Fold)
	}
	var err error
	if opts.Test, err = partSize("test_size", o.TestSize); err != nil {
		return parts{}, err
	}
	if opts.Train, err = partSize("train_size", o.TrainSize); err != nil {
		return parts{}, err
	}
	if o.Stratify != nil {
		classes, count := codesOf(true, o.Stratify)
		sortCodes(classes, count, o.Stratify)
		opts.Stratify = classes
	}
	train, test, err := split.TrainTestSplit(rows.Len(), opts)
	if err != nil {
		return parts{}, fmt.Errorf("train_test_split: %w", err)
	}
	return parts{Train: rows.Take(train), Test: rows.Take(test)}, nil
}

// partSize reads a size: a share below 1, or a number of rows.
func partSize(name string, v *float64) (split.Size, error) {
	switch {
	case v == nil:
		return 0, nil
	case *v > 0 && *v < 1, *v >= 1 && *v == math.Trunc(*v) && *v < 1<<31:
		return split.Size(*v), nil
	}
	return 0, fmt.Errorf("train_test_split: %s = %v is neither a share between 0 and 1 nor a number of rows", name, *v)
}

// splitEachOptions are the options of train_test_split_each.
type splitEachOptions struct {
	TestSize    *float64 `verb:"test_size"`
	RandomState int      `verb:"random_state"`
	ShuffleFrom int      `verb:"shuffle_from"`
}

var trainTestSplitEachVerb = Verb{
	Name: "train_test_split_each", Params: []string{"rows", "groups", "options"},
	Summary: "The rows with every group shuffled and split into train and test, each with the same seed.",
	Detail:  "groups is a column of equal cells. Parts hold groups in order of first appearance, each shuffled. test_size is a share below 1, rounded up in each; random_state is the seed (0). shuffle_from = n keeps the order of groups of fewer than n rows: the last are the test part, the share rounded down but at least one, and a single row goes to train. Without it, a group of one row is an error.",
	Source:  "sklearn.model_selection.train_test_split (1.5) for each group of itertools.groupby",
	Func:    trainTestSplitEach,
}

func trainTestSplitEach(rows Rows, groups *table.Column, o *splitEachOptions) (parts, error) {
	if groups.Len() != rows.Len() {
		return parts{}, fmt.Errorf("train_test_split_each: groups has %d cells; there are %d rows", groups.Len(), rows.Len())
	}
	if o.TestSize == nil || !(*o.TestSize > 0 && *o.TestSize < 1) {
		return parts{}, fmt.Errorf("train_test_split_each: test_size must be a share between 0 and 1")
	}
	var train, test []int
	for _, members := range rowsByCode(codesOf(true, groups)) {
		first, second, err := o.split(len(members))
		if err != nil {
			return parts{}, fmt.Errorf("train_test_split_each: group %s: %w", groups.Text(members[0]), err)
		}
		train, test = append(train, taken(members, first)...), append(test, taken(members, second)...)
	}
	return parts{Train: rows.Take(train), Test: rows.Take(test)}, nil
}

// split divides the rows of one group.
func (o *splitEachOptions) split(n int) (train, test []int, err error) {
	switch {
	case n >= o.ShuffleFrom:
		return split.TrainTestSplit(n, split.Options{Test: split.Size(*o.TestSize), Seed: int64(o.RandomState)})
	case n == 1:
		return []int{0}, nil, nil
	}
	cut := n - max(1, int(float64(n)**o.TestSize))
	return span(0, cut), span(cut, n), nil
}
