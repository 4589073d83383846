package kit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// answerKind is what the answers are.
type answerKind uint8

const (
	numbers answerKind = iota // numbers of many values
	binary                    // two values
	classes                   // a few values
	words                     // strings of many values
)

// mostClasses is the number of distinct values up to which answers are classes.
const mostClasses = 50

// usualTargets are usual names of columns with answers.
var usualTargets = []string{"target", "label", "labels", "class", "y", "outcome", "response"}

// chooseTarget finds the columns with the answers.
func (d *draft) chooseTarget() error {
	train, names := d.files.train, d.files.train.Names()
	switch {
	case len(d.o.Targets) > 0:
		for _, name := range d.o.Targets {
			if !train.Has(name) {
				return fmt.Errorf("%s has no column %.60q; it has %s", d.Train, name, someOf(names))
			}
		}
		d.Raw = d.o.Targets
	case d.targetOfSample():
	case d.targetOfTest():
	default:
		usual := lists.Where(names, func(name string) bool { return slices.Contains(usualTargets, strings.ToLower(name)) })
		if len(usual) != 1 {
			return fmt.Errorf("which column is predicted? %s has %s; say so with --target NAME", d.Train, someOf(names))
		}
		d.Raw = usual
		d.guess("grade", "targets: %q is a usual name for answers.", usual[0])
	}
	if d.Targets == nil {
		d.Targets = d.Raw
	}
	for _, name := range d.Raw {
		c, err := train.Column(name)
		if err != nil {
			return err
		}
		if len(valuesOf(c, 2)) < 2 {
			return fmt.Errorf("all answers in column %.60q of %s are the same", name, d.Train)
		}
		d.kind = max(d.kind, kindOf(c))
		if n := c.MissingCount(); n > 0 {
			d.Dropped = true
			d.ask("locals", "%d of %d rows have no %q. They are left out; is that right?", n, c.Len(), name)
		}
	}
	if test := d.files.test; test != nil && !slices.ContainsFunc(d.Raw, func(name string) bool { return !test.Has(name) }) {
		d.Test = d.files.testName
	}
	d.Category = "tabular-classification"
	if d.Numbers = d.kind == numbers; d.Numbers {
		d.Category = "tabular-regression"
	}
	return nil
}

// targetOfSample takes the targets from the sample submission: columns of the training
// table, or values of one.
func (d *draft) targetOfSample() bool {
	if d.files.sample == nil || len(d.files.sample.Columns()) < 2 {
		return false
	}
	train, names := d.files.train, d.files.sample.Names()[1:]
	if !slices.ContainsFunc(names, func(name string) bool { return !train.Has(name) }) {
		d.Raw = names
		d.guess("grade", "targets: the columns of %s after the first.", d.files.sampleOf)
		return true
	}
	for _, c := range train.Columns() {
		if values := valuesOf(c, mostDistinct); len(names) > 1 && len(values) <= len(names) && !slices.ContainsFunc(values, func(v table.Value) bool { return !slices.Contains(names, v.String()) }) {
			d.Raw = []string{c.Name()}
			d.toClasses(names, values)
			d.guess("grade", "targets: the columns of %s are the values of %q.", d.files.sampleOf, c.Name())
			return true
		}
	}
	return false
}

// mostDistinct is the number of values up to which they are listed.
const mostDistinct = 1000

// toClasses makes a target of every class.
func (d *draft) toClasses(names []string, values []table.Value) {
	d.Targets, d.Classes = names, lists.Of(names, func(name string) string {
		if at := slices.IndexFunc(values, func(v table.Value) bool { return v.String() == name }); at >= 0 {
			return literal(values[at])
		}
		return quoted(name)
	})
}

// targetOfTest takes the only column that the test table lacks.
func (d *draft) targetOfTest() bool {
	if d.files.test == nil {
		return false
	}
	missing := lists.Where(d.files.train.Names(), func(name string) bool { return !d.files.test.Has(name) })
	if len(missing) != 1 {
		return false
	}
	d.Raw = missing
	d.guess("grade", "targets: %q is the only column of %s that %s lacks.", missing[0], d.Train, d.files.testName)
	return true
}

func kindOf(c *table.Column) answerKind {
	values := valuesOf(c, mostClasses)
	integers := !slices.ContainsFunc(values, func(v table.Value) bool { return v.Kind() == table.Float64 && v.Float() != float64(int64(v.Float())) })
	switch {
	case len(values) == 2:
		return binary
	case c.Kind().IsNumber() && (len(values) > 20 || !integers):
		return numbers
	case len(values) > mostClasses:
		return words
	}
	return classes
}

// valuesOf returns the distinct values in order of first appearance, at most one more than
// most; missing ones do not count.
func valuesOf(c *table.Column, most int) (out []table.Value) {
	seen := map[string]bool{}
	for i := 0; i < c.Len() && len(out) <= most; i++ {
		if v := c.Value(i); !v.IsMissing() && !seen[c.Text(i)] {
			seen[c.Text(i)] = true
			out = append(out, v)
		}
	}
	return out
}

// literal returns a value as HCL.
func literal(v table.Value) string {
	switch v.Kind() {
	case table.Bool:
		return strconv.FormatBool(v.Bool())
	case table.Int64, table.Uint64, table.Float64:
		return v.String()
	}
	return quoted(v.String())
}

// idNames are usual names of columns that name a row.
var idNames = regexp.MustCompile(`(?i)(^|[^a-z])(ids?|uuid|key|index)$|[a-z]I[Dd]$`)

// namesRows reports whether each row has a value of its own in the column.
func namesRows(t *table.Table, name string) bool {
	c, err := t.Column(name)
	return err == nil && c.Kind() != table.Float64 && c.MissingCount() == 0 && len(lists.By(rowsOf(c), c.Text)) == c.Len()
}

// chooseID finds the column that names a row.
func (d *draft) chooseID() error {
	train := d.files.train
	unique := func(name string) bool {
		return namesRows(train, name) && (d.Test == "" || namesRows(d.files.test, name))
	}
	named := lists.Where(train.Names(), func(name string) bool {
		return idNames.MatchString(name) && !slices.Contains(d.Raw, name) && unique(name)
	})
	first := ""
	if d.files.sample != nil && len(d.files.sample.Columns()) > 0 {
		first = d.files.sample.Names()[0]
	}
	switch {
	case d.o.ID != "" && !unique(d.o.ID):
		return fmt.Errorf("%s has no column %.60q, or two of its rows have the same", d.Train, d.o.ID)
	case d.o.ID != "":
		d.IDColumn = d.o.ID
	case first != "" && unique(first) && !slices.Contains(d.Raw, first):
		d.IDColumn = first
		d.guess("grade", "id: %q is the first column of %s, and no two rows of %s have the same.", first, d.files.sampleOf, d.Train)
	case len(named) > 0:
		d.IDColumn = named[0]
		if d.guess("grade", "id: by its name; no two rows have the same %q.", named[0]); len(named) > 1 {
			d.ask("grade", "which column names a row? %s would do, too.", someOf(named[1:]))
		}
	default:
		d.IDColumn, d.NewID = "row_id", true
		for train.Has(d.IDColumn) {
			d.IDColumn += "_"
		}
		d.guess("locals", "%s: no column names a row, so the rows of the test part are numbered after they were shuffled.", d.IDColumn)
	}
	return nil
}

// chooseSplit finds out how the test rows are chosen.
func (d *draft) chooseSplit() error {
	f := d.files
	if d.Test != "" {
		d.guess("locals", "split: %s has the answers, so its rows are the test rows.", d.Test)
		return nil
	}
	if f.test != nil {
		d.guess("locals", "%s has no answers, so it is not used: test rows are taken from %s.", f.testName, d.Train)
	}
	group, moment := d.groupColumn(), d.timeColumn()
	rows := "all"
	stratify := ""
	if len(d.Raw) == 1 && (d.kind == binary || d.kind == classes) {
		if d.balance() {
			stratify = ", stratify = " + columnOf(rows, d.Raw[0])
		}
	}
	switch {
	case group != "":
		d.Split = fmt.Sprintf("k_fold(%s, { splits = 5, groups = %s%s })", rows, columnOf(rows, group), stratify)
	case moment != "":
		d.Split = fmt.Sprintf("time_series_split(sort_values(%s, %s), { splits = 4 })", rows, quoted(moment))
	default:
		d.Split = fmt.Sprintf("train_test_split(%s, { test_size = 0.2, random_state = 0%s })", rows, stratify)
	}
	return nil
}

// balance notes the classes and their rows, and reports whether each has enough to be in
// both parts.
func (d *draft) balance() bool {
	c, err := d.files.train.Column(d.Raw[0])
	if err != nil {
		return false
	}
	groups := lists.By(rowsOf(c), c.Text)
	delete(groups, "")
	sizes := lists.OfMap(groups, func(_ string, rows []int) int { return len(rows) })
	least, most := slices.Min(sizes), slices.Max(sizes)
	if least < 5 {
		d.guess("locals", "split: %q has %d classes of %d to %d rows, of which the least are too few for stratify.", d.Raw[0], len(sizes), least, most)
		return false
	}
	d.guess("locals", "split: %q has %d classes of %d to %d rows, whose shares stratify keeps.", d.Raw[0], len(sizes), least, most)
	return true
}

// groupColumn returns a column whose rows belong together, as the test table shows or else
// the name; "" if there is none.
func (d *draft) groupColumn() string {
	for _, c := range d.files.train.Columns() {
		n := len(lists.By(rowsOf(c), c.Text))
		if c.Name() == d.IDColumn || slices.Contains(d.Raw, c.Name()) || !groupNames.MatchString(c.Name()) || n < 10 || 2*n > c.Len() || c.MissingCount() > 0 {
			continue
		}
		if test := d.files.test; test != nil && test.Has(c.Name()) {
			if d.overlaps(c, test) {
				d.guess("locals", "split: values of %q are in %s and %s, so groups are not kept together.", c.Name(), d.Train, d.files.testName)
				continue
			}
			d.guess("locals", "split: no value of %q is in both %s and %s, so the rows of one stay together.", c.Name(), d.Train, d.files.testName)
			return c.Name()
		}
		d.ask("locals", "do the rows of one %q belong together? %d values repeat %d times on average. They stay together here; if new rows of known ones are predicted, split with train_test_split(all, { test_size = 0.2, random_state = 0 }).", c.Name(), n, c.Len()/n)
		return c.Name()
	}
	return ""
}

func (d *draft) overlaps(c *table.Column, test *table.Table) bool {
	known := lists.By(rowsOf(c), c.Text)
	other, err := test.Column(c.Name())
	return err == nil && slices.ContainsFunc(other.Texts(), func(s string) bool { return known[s] != nil })
}

// dates is how a column of times that sort as strings looks.
var dates = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$`)

// timeColumn returns the first column of dates; "" if there is none.
func (d *draft) timeColumn() string {
	for _, c := range d.files.train.Columns() {
		values := valuesOf(c, mostDistinct)
		if c.Kind() != table.Text || c.MissingCount() > 0 || len(values) < 10 || slices.Contains(d.Raw, c.Name()) ||
			slices.ContainsFunc(values, func(v table.Value) bool { return !dates.MatchString(v.String()) }) {
			continue
		}
		if test := d.files.test; test != nil && test.Has(c.Name()) {
			other, err := test.Column(c.Name())
			if err != nil || other.Len() == 0 || other.Kind() != table.Text || slices.Min(other.Texts()) < slices.Max(c.Texts()) {
				d.guess("locals", "split: %q of %s begins before that of %s ends, so the split is not by time.", c.Name(), d.files.testName, d.Train)
				return ""
			}
			d.guess("locals", "split: %q of %s is after that of %s, so the last fifth is the test part.", c.Name(), d.files.testName, d.Train)
			return c.Name()
		}
		d.ask("locals", "are later rows predicted from earlier ones? %q holds dates, and the last fifth is the test part here; if not, split with train_test_split(all, { test_size = 0.2, random_state = 0 }).", c.Name())
		return c.Name()
	}
	return ""
}
