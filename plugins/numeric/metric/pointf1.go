package metric

import (
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var pointInBoxF1 = Metric{
	Name:   "point_in_box_f1",
	Better: Higher,
	Doc: `F1 of labelled points against labelled boxes, counted over all rows.
A true cell lists "label x y width height", a predicted one "label x y", split at every single space; empty is nothing. Each box in order takes the first unused point of its label strictly inside it; boxes left are false negatives, points left false positives. The score is 2pr/(p+r), 0 if nothing is predicted, true or correct. Lists of another length and coordinates that Python's float() refuses have no score.`,
	Source:       "metric of the Kuzushiji recognition competition",
	Placeholders: Placeholders{"": {"a 1 1 2 2"}},
	New:          func(Args) (Scorer, error) { return scorerFunc(scorePointF1), nil },
}

func scorePointF1(in Input) (Score, error) {
	p, err := in.single()
	if err != nil {
		return Score{}, err
	}
	var right, predicted, wanted int
	for i := range p.truth.Len() {
		points, err := labelled(p.pred, i, 2)
		if err != nil {
			return Score{}, err
		}
		boxes, err := labelled(p.truth, i, 4)
		if err != nil {
			return Score{}, unscorable("the answers of row %d cannot be read", i+1)
		}
		right += takenPoints(boxes, points)
		predicted += len(points)
		wanted += len(boxes)
	}
	if right == 0 {
		return Score{Rounding: PythonRounding}, nil
	}
	precision, recall := float64(right)/float64(predicted), float64(right)/float64(wanted)
	return Score{Value: float64(2*precision*recall) / (precision + recall), Rounding: PythonRounding}, nil
}

// labelledNumbers is a word with numbers.
type labelledNumbers struct {
	label  string
	values []float64
}

// labelled reads a cell of groups of a label and n numbers at single blanks;
// a missing cell holds none.
func labelled(c *table.Column, row, n int) ([]labelledNumbers, error) {
	v := c.Value(row)
	if v.IsMissing() {
		return nil, nil
	}
	if v.Kind() != table.Text {
		return nil, &Unscorable{Column: c.Name(), Reason: "contains cells that are not strings"}
	}
	parts := strings.Split(v.String(), " ")
	if len(parts)%(n+1) != 0 {
		return nil, unscorable("column %q: row %d: the list has %d words, which is not a multiple of %d", c.Name(), row+1, len(parts), n+1)
	}
	var out []labelledNumbers
	for at := 0; at < len(parts); at += n + 1 {
		values, bad := parseFloats(parts[at+1 : at+1+n])
		if bad != "" {
			return nil, unscorable("column %q: row %d: %s is not a number", c.Name(), row+1, bad)
		}
		out = append(out, labelledNumbers{parts[at], values})
	}
	return out, nil
}

// parseFloats reads words as Python's float() does; bad is the first, quoted,
// that it refuses.
func parseFloats(list []string) (values []float64, bad string) {
	values = make([]float64, len(list))
	for i, w := range list {
		x, ok := pytext.Float(w)
		if !ok {
			return nil, quote(w)
		}
		values[i] = x
	}
	return values, ""
}

func takenPoints(boxes, points []labelledNumbers) int {
	used := make([]bool, len(points))
	taken := 0
	for _, b := range boxes {
		x0, y0 := b.values[0], b.values[1]
		x1, y1 := x0+b.values[2], y0+b.values[3]
		for i, p := range points {
			x, y := p.values[0], p.values[1]
			if !used[i] && p.label == b.label && x0 < x && x < x1 && y0 < y && y < y1 {
				used[i] = true
				taken++
				break
			}
		}
	}
	return taken
}
