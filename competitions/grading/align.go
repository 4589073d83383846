package grading

import (
	"fmt"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// alignment selects how rows of the submission are paired with the answers.
type alignment string

// Alignments are the values of the attribute align.
var Alignments = []Choice{
	{"sorted", "The default with an id: both tables sorted by id (pandas sort_values, not stable), then row by row. Only requirements compare ids."},
	{"position", "The default without an id: row by row in the files' order."},
	{"join", "Every row of the answers with every row of the submission of its id, in the answers' order (pandas merge, inner)."},
	{"overlap", "Rows with an unknown id are dropped, both tables sorted by id and matched row by row up to the shorter one's end."},
}

// TargetPairings are the values of the attribute targets_by.
var TargetPairings = []Choice{
	{"name", "The default: each target is the column of its name."},
	{"place", "The n-th target is the n-th column but the id, whatever its name; no others are allowed."},
}

// sortedPair is a submission and its answers, each sorted by id.
type sortedPair struct {
	submission, answers *table.Table
	answerRows          []int32 // row numbers of answers before sorting
	submissionRows      []int32
}

// sort sorts both tables once.
func (s *subject) sort() (*sortedPair, error) {
	if s.sorted != nil {
		return s.sorted, nil
	}
	a, b, err := s.ids()
	if err != nil {
		return nil, err
	}
	// Both at once: sorting is most of what grading a large table takes.
	var rows []int32
	var bad error
	var sorting sync.WaitGroup
	same := a.Len() == b.Len() && a.Kind() == b.Kind() && firstDifference(a, b) < 0
	if !same {
		sorting.Go(func() { rows, bad = s.submission.ArgSort(s.plan.ID) })
	}
	answerRows, err := s.answers.ArgSort(s.plan.ID)
	sorting.Wait()
	switch {
	case err != nil:
		return nil, fmt.Errorf("sort answers by %q: %w", s.plan.ID, err)
	case bad != nil:
		return nil, invalid("column %q cannot be sorted: %v", s.plan.ID, bad)
	case same:
		rows = answerRows
	}
	s.sorted = &sortedPair{
		submission: take(s.submission, rows), answers: take(s.answers, answerRows),
		submissionRows: rows, answerRows: answerRows,
	}
	return s.sorted, nil
}

// take is TakeRows, but keeps a table whose rows stay where they are.
func take(t *table.Table, rows []int32) *table.Table {
	moved := len(rows) != t.Len()
	for i := 0; i < len(rows) && !moved; i++ {
		moved = int(rows[i]) != i
	}
	if moved {
		return t.TakeRows(rows)
	}
	return t
}

// aligned pairs the rows and prepares the columns for the metric.
func (s *subject) aligned() (metric.Input, error) {
	p := s.plan
	in := metric.Input{Truth: s.answers, Prediction: s.submission, ID: p.ID, Targets: p.Targets, TruthNames: p.Truth}
	if p.align != "position" {
		var err error
		if in.Prediction, in.Truth, err = s.pairRows(); err != nil {
			return in, err
		}
	}
	if p.byPlace {
		if err := nameByPlace(&in); err != nil {
			return in, err
		}
	}
	return in, p.cells.apply(&in)
}

func (s *subject) pairRows() (submission, answers *table.Table, err error) {
	switch s.plan.align {
	case "join":
		return s.join()
	case "overlap":
		return s.overlap()
	}
	pair, err := s.sort()
	if err != nil {
		return nil, nil, err
	}
	if s.plan.only != nil {
		return s.plan.only.apply(s, pair)
	}
	return pair.submission, pair.answers, nil
}

// join pairs as pandas' answers.merge(submission, on=id) does.
func (s *subject) join() (submission, answers *table.Table, err error) {
	submitted, known, err := s.ids()
	if err != nil {
		return nil, nil, err
	}
	if unlike(submitted, known) || unlike(known, submitted) {
		return nil, nil, invalid("column %q: numbers cannot be matched with strings, or with booleans of which some are missing", s.plan.ID)
	}
	ids := table.LookupIn(submitted.Kind(), known.Kind())
	at := rowsByKey(submitted, ids)
	var left, right []int32
	for i := range known.Len() {
		for _, j := range at[ids.Key(known.Value(i))] {
			left, right = append(left, int32(i)), append(right, j)
		}
	}
	return take(s.submission, right), take(s.answers, left), nil
}

// unlike reports whether pandas refuses to merge by these columns: strings, or
// booleans with gaps, and numbers.
func unlike(a, b *table.Column) bool {
	return holdsObjects(a) && a.Kind() != table.Mixed && b.Kind().IsNumber()
}

func rowsByKey(c *table.Column, by table.Lookup) map[table.Value][]int32 {
	out := make(map[table.Value][]int32, c.Len())
	for i := range c.Len() {
		k := by.Key(c.Value(i))
		out[k] = append(out[k], int32(i))
	}
	return out
}

func (s *subject) overlap() (submission, answers *table.Table, err error) {
	submitted, known, err := s.ids()
	if err != nil {
		return nil, nil, err
	}
	ids := table.LookupIn(submitted.Kind(), known.Kind())
	at := rowsByKey(known, ids)
	var chosen []int32
	for i := range submitted.Len() {
		if at[ids.Key(submitted.Value(i))] != nil {
			chosen = append(chosen, int32(i))
		}
	}
	selected := take(s.submission, chosen)
	if submission, err = selected.SortBy(s.plan.ID); err != nil {
		return nil, nil, invalid("column %q cannot be sorted: %v", s.plan.ID, err)
	}
	if answers, err = s.answers.SortBy(s.plan.ID); err != nil {
		return nil, nil, fmt.Errorf("sort answers: %w", err)
	}
	n := min(submission.Len(), answers.Len())
	return submission.Slice(0, n), answers.Slice(0, n), nil
}

// nameByPlace gives the submission's columns other than the id the names of
// the targets, by place.
func nameByPlace(in *metric.Input) error {
	columns := lists.Where(in.Prediction.Columns(), func(c *table.Column) bool { return c.Name() != in.ID })
	if len(columns) != len(in.Targets) {
		return invalid("there are %d columns other than %q; expected %d", len(columns), in.ID, len(in.Targets))
	}
	for i, c := range columns {
		columns[i] = c.Rename(in.Targets[i])
	}
	t, err := table.New(columns...)
	if err == nil {
		in.Prediction = t
	}
	return err
}

// rowFilter says which rows of the answers are graded.
type rowFilter struct {
	Column  string      `option:"column"`
	Equals  cty.Value   `option:"equals"`
	value   table.Value // Equals
	Sum     []string    `option:"sum"` // with AtLeast: rows whose sum over these is at least that
	AtLeast float64     `option:"at_least"`
	By      string      `option:"by"` // "row" applies it to the submission by the row's label instead of id
}

// rowFilter decodes the attribute only:
//
//	only = { column = "u_out", equals = 0 }
//	only = { sum = local.classes, at_least = 0 }
//	only = { column = "keep", equals = true, by = "row" }
func (d *decoder) rowFilter() {
	v, ok := d.value("only")
	if !ok {
		return
	}
	f, err := decodeRowFilter(v)
	if err == nil && d.plan.align != "sorted" {
		err = fmt.Errorf("it needs align = \"sorted\"")
	}
	if err != nil {
		d.fail(d.body.Attributes["only"].Expr.Range(), "Wrong value for only", "%v. Write { column = name, equals = value } or { sum = names, at_least = number }.", err)
		return
	}
	d.plan.only = f
}

func decodeRowFilter(v cty.Value) (*rowFilter, error) {
	if !isObject(v) {
		return nil, fmt.Errorf("expected an object")
	}
	f := &rowFilter{By: "id"}
	err := fill(v, f)
	switch {
	case f.By != "id" && f.By != "row":
		return nil, fmt.Errorf("by must be \"id\" or \"row\"")
	case err != nil:
		return nil, err
	case f.Sum != nil:
		return f, nil
	case f.Column == "":
		return nil, fmt.Errorf("it names no column")
	}
	f.value, err = tableValue(f.Equals)
	return f, err
}

func tableValue(v cty.Value) (table.Value, error) {
	switch {
	case v == cty.NilVal || v.IsNull():
		return table.Value{}, fmt.Errorf("equals is missing")
	case v.Type() == cty.Bool:
		return table.BoolValue(v.True()), nil
	case v.Type() == cty.String:
		return table.TextValue(v.AsString()), nil
	}
	if _, err := number(v); err != nil {
		return table.Value{}, err
	}
	return table.NumberValue(v.AsBigFloat()), nil
}

// apply keeps the rows of both sorted tables that the filter marks in the
// answers. A row of the submission is kept if the answers' row with its id
// (or, by row, with its number in the file) is.
func (f *rowFilter) apply(s *subject, pair *sortedPair) (submission, answers *table.Table, err error) {
	marks, err := f.marks(pair.answers)
	if err != nil {
		return nil, nil, err
	}
	var rows, chosen []int
	for i, m := range marks {
		if m {
			rows = append(rows, i)
		}
	}
	lookup := f.lookup(s, pair, marks)
	ids, _ := pair.submission.Column(s.plan.ID)
	for i := range pair.submission.Len() {
		mark, ok := lookup(i)
		if !ok {
			return nil, nil, invalid("column %q: %s is not an expected id", s.plan.ID, cell(ids, i))
		}
		if mark {
			chosen = append(chosen, i)
		}
	}
	return pair.submission.Take(chosen), pair.answers.Take(rows), nil
}

func (f *rowFilter) marks(answers *table.Table) ([]bool, error) {
	marks := make([]bool, answers.Len())
	if f.Sum == nil {
		c, err := answers.Column(f.Column)
		if err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
		want := table.Lookup{Floats: c.Kind() == table.Float64}
		for i := range marks {
			marks[i] = want.Key(c.Value(i)) == want.Key(f.value)
		}
		return marks, nil
	}
	sums := make([]float64, len(marks))
	for _, name := range f.Sum {
		c, err := answers.Column(name)
		if err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
		for i, x := range c.Floats() {
			if x == x {
				sums[i] += x
			}
		}
	}
	for i, sum := range sums {
		marks[i] = sum >= f.AtLeast
	}
	return marks, nil
}

// label returns the number by which pandas finds a row of the submission: its
// number in the file, or the cell before the columns of the header. Ok is false
// if that cell is not the number of one of n rows.
func (s *subject) label(row, n int) (label int, ok bool) {
	if index := s.submission.Index(); len(index) > 0 {
		k := index[0].Value(row).Exact()
		if len(index) > 1 || k.Kind() != table.Int64 || index[0].Kind() == table.Bool || k.Int() < 0 || k.Int() >= int64(n) {
			return 0, false
		}
		row = int(k.Int())
	}
	return row, row < n
}

// lookup returns a function from a row of the sorted submission to its mark.
func (f *rowFilter) lookup(s *subject, pair *sortedPair, marks []bool) func(int) (bool, bool) {
	if f.By == "row" {
		byRow := make([]bool, len(marks))
		for i, r := range pair.answerRows {
			byRow[r] = marks[i]
		}
		return func(i int) (bool, bool) {
			r, ok := s.label(int(pair.submissionRows[i]), len(byRow))
			return ok && byRow[r], ok
		}
	}
	known, _ := pair.answers.Column(s.plan.ID)
	ids, _ := pair.submission.Column(s.plan.ID)
	if ids.Len() == known.Len() && firstDifference(ids, known) < 0 {
		return func(i int) (bool, bool) { return marks[i], true }
	}
	by := table.LookupIn(ids.Kind(), known.Kind())
	byID := make(map[table.Value]bool, known.Len())
	for i := range known.Len() {
		byID[by.Key(known.Value(i))] = marks[i]
	}
	return func(i int) (bool, bool) {
		mark, ok := byID[by.Key(ids.Value(i))]
		return mark, ok
	}
}
