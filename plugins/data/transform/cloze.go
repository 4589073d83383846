package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

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
		n := rows.Len()
		gone := newSelector(n)
		for i := range positions.Len() {
			at := positions.Int(i)
			if positions.Kind() != table.Int64 || at < 0 || at >= int64(n) {
				return nil, fmt.Errorf("omit: position %s of row %d is not between 0 and %d", positions.Text(i), i, n-1)
			}
			gone.set[at>>6] |= 1 << (at & 63)
		}
		return pickRows(rows, func(position int) bool { return !gone.has(position) }), nil
	},
}
