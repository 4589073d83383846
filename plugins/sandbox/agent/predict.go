package agent

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// predict fills in the submission's columns for one target, in the order of test.csv.
func predict(net *network, x *matrix, l *lesson, t target, filled map[string][]string) {
	for _, name := range t.fills {
		filled[name] = make([]string, x.rows)
	}
	y := make([]float64, net.out)
	for row := range x.rows {
		net.forward(x.row(row), y)
		if t.form == value {
			filled[t.fills[0]][row] = format(float64(y[0]*l.scale) + l.mean)
			continue
		}
		softmax(y)
		switch t.form {
		case label:
			filled[t.fills[0]][row] = t.classes[argmax(y)]
		case chance:
			filled[t.fills[0]][row] = format(y[1])
		case spread:
			for c, name := range t.fills {
				filled[name][row] = format(y[c])
			}
		}
	}
}

func argmax(y []float64) int {
	best := 0
	for i, v := range y {
		if v > y[best] {
			best = i
		}
	}
	return best
}

// format writes a number with 8 digits, which exceeds a model's precision.
func format(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

// submit writes the sample submission with the targets filled in. Rows are matched by
// id if the ids are those of test.csv, and otherwise by position.
func (b *baselineData) submit(t Task, filled map[string][]string) error {
	rowOf, err := b.matchRows()
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(t.SubmissionDir, SubmissionFile))
	if err != nil {
		return fmt.Errorf("create submission: %w", err)
	}
	defer file.Close()
	w := csv.NewWriter(file)
	w.Write(b.sample.names) //nolint:errcheck // w.Error reports it
	row := make([]string, len(b.sample.names))
	for i := range b.sample.rows() {
		for c, name := range b.sample.names {
			if values := filled[name]; values != nil {
				row[c] = values[rowOf(i)]
			} else {
				row[c] = b.sample.cols[c][i]
			}
		}
		w.Write(row) //nolint:errcheck // w.Error reports it
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("write submission: %w", err)
	}
	fmt.Fprintf(t.Log, "submitted %d predictions\n", b.sample.rows())
	return file.Close()
}

// matchRows returns a function that maps a row of the sample to its row of test.csv.
func (b *baselineData) matchRows() (func(int) int, error) {
	for _, id := range b.problem.ids {
		col := b.test.col(id)
		if col == nil {
			continue
		}
		at := make(map[string]int, len(col))
		for i, v := range col {
			at[v] = i
		}
		wanted := b.sample.col(id)
		all := len(at) == len(col)
		for _, v := range wanted {
			_, ok := at[v]
			all = all && ok
		}
		if all {
			return func(i int) int { return at[wanted[i]] }, nil
		}
	}
	if b.sample.rows() != b.test.rows() {
		return nil, fmt.Errorf("match rows: %s has %d rows, %s has %d, and there is no id to match them",
			b.sample.file, b.sample.rows(), b.test.file, b.test.rows())
	}
	return func(i int) int { return i }, nil
}
