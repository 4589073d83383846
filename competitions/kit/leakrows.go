package kit

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// lintUngraded looks for columns that are as secret as the targets and look
// like them, and are not asked for.
func lintUngraded(p *preparedLinter) error {
	truths := p.truths()
	if len(truths) == 0 || p.row == nil {
		return nil
	}
	values := map[string]bool{}
	for _, c := range truths {
		for _, text := range c.Texts() {
			values[text] = true
		}
	}
	if len(values) > 10 {
		return nil // no classes
	}
	sides := p.testSides()
	for _, c := range p.answers.Columns() {
		if c.Name() == p.plan.ID || slices.Contains(p.plan.Truth, c.Name()) ||
			slices.ContainsFunc(sides, func(s side) bool { return s.t.Has(c.Name()) }) {
			continue
		}
		like, more := true, false
		for i := range c.Len() {
			like = like && values[c.Text(i)]
			more = more || c.Text(i) != c.Text(0)
		}
		if like && more {
			p.leak(Warning, p.def.Layout.Answers, c.Name(), "column %q is private and has values like a target's, but it is neither in the sample submission nor graded", c.Name())
		}
	}
	return nil
}

// lintOrdered looks for an order of the rows that sorts the answers: that of
// the ids, and that of the rows in public tables.
func lintOrdered(p *preparedLinter) error {
	if p.row == nil {
		return nil
	}
	ids, err := p.answers.Column(p.plan.ID)
	if err != nil {
		return err
	}
	byID := table.Collect(ids.Len(), func(i int) int { return i })
	keys := idKeys(ids)
	slices.SortStableFunc(byID, func(a, b int) int {
		return cmp.Or(cmp.Compare(keys[a].number, keys[b].number), strings.Compare(keys[a].text, keys[b].text))
	})
	p.judgeSorted(p.def.Layout.Answers, p.plan.ID, "the order of the ids", byID)
	for _, t := range p.public.tables {
		if _, rows := p.paired(t.t); !p.labelled(t.t) || t.name == p.def.Layout.Sample {
			p.judgeSorted(t.name, p.plan.ID, "the order of the rows", rows)
		}
	}
	return nil
}

// idKey orders ids: by their last number, then as texts.
type idKey struct {
	number float64
	text   string
}

func idKeys(ids *table.Column) []idKey {
	keys := make([]idKey, ids.Len())
	for i := range keys {
		text := ids.Text(i)
		end := strings.LastIndexAny(text, "0123456789") + 1
		start := end
		for start > 0 && text[start-1] >= '0' && text[start-1] <= '9' {
			start--
		}
		number, _ := strconv.ParseFloat(text[start:end], 64)
		keys[i] = idKey{number, text}
	}
	return keys
}

// judgeSorted reports rows of the answers whose order sorts them, or nearly.
func (p *preparedLinter) judgeSorted(file, column, what string, rows []int) {
	for _, truth := range p.truths() {
		texts, kinds, order := lists.Of(rows, truth.Text), map[string]bool{}, make([]float64, len(rows))
		for n, text := range texts {
			kinds[text], order[n] = true, float64(n)
		}
		if truth.Kind().IsNumber() && monotone(order, lists.Of(rows, truth.Float)) {
			p.leak(Error, file, column, "%s sorts the answers of column %q", what, truth.Name())
			continue
		}
		if len(rows) < 8 || len(kinds) < 2 || 2*len(kinds) > len(rows) {
			continue
		}
		got, want, deviation, sorted := runs(texts)
		least := float64(len(kinds))
		switch {
		case got == least && sorted < surely:
			p.leak(Error, file, column, "%s sorts the answers of column %q", what, truth.Name())
		case want-got > float64(spread*deviation) && got-least < (want-least)/10:
			p.leak(Warning, file, column, "%s nearly sorts the answers of column %q: %.0f stretches of equal answers, where %.0f are expected", what, truth.Name(), got, want)
		}
	}
}

// answerNames are the usual names of features that hold an answer, whatever its
// name in the competition's tables.
var answerNames = []string{"class", "label", "target"}

// lintRecords looks into TensorFlow records for answers next to the test rows.
func lintRecords(p *preparedLinter) error {
	unnamed := func(name string) bool { return !slices.Contains(p.plan.Truth, name) }
	names := slices.Concat(p.plan.Truth, lists.Where(answerNames, unnamed))
	for _, f := range p.public.files {
		if path.Ext(f.name) != ".tfrec" && path.Ext(f.name) != ".tfrecord" || p.row == nil {
			continue
		}
		r, err := f.open()
		if err != nil {
			return err
		}
		found := map[string]int{}
		err = transform.ScanExamples(r, func(features map[string]transform.Feature) error {
			if !p.ofTestRow(features) {
				return nil
			}
			for _, target := range names {
				if _, has := features[target]; has {
					found[target]++
				}
			}
			return nil
		})
		if err = errors.Join(err, r.Close()); err != nil {
			p.leak(Warning, f.name, "", "it cannot be read as TensorFlow records: %v", err)
			continue
		}
		for _, target := range names {
			if n := found[target]; n > 0 {
				p.leak(Error, f.name, target, "%d records of test rows hold a feature %q", n, target)
			}
		}
	}
	return nil
}

// ofTestRow reports whether some feature of a record holds the id of a test row.
// Its name may differ from that of the id in the tables.
func (p *preparedLinter) ofTestRow(features map[string]transform.Feature) bool {
	for _, f := range features {
		if _, test := p.row[f.Text()]; test {
			return true
		}
	}
	return false
}

// lintDuplicates looks for test rows and test files among the training data.
func lintDuplicates(p *preparedLinter) error {
	for _, s := range p.testSides() {
		for _, t := range p.trainSides() {
			p.judgeTwins(s, t)
		}
	}
	same, err := twins(p.public.files)
	if err != nil {
		return err
	}
	count, example := 0, ""
	for _, group := range same {
		test := slices.IndexFunc(group, func(f dataFile) bool { return p.sideOf(f.name) > 0 })
		train := slices.IndexFunc(group, func(f dataFile) bool { return p.sideOf(f.name) < 0 })
		if test >= 0 && train >= 0 {
			if count++; example == "" {
				example = group[test].name + " and " + group[train].name
			}
		}
	}
	if count > 0 {
		p.leak(Warning, "public", "", "%d files are in both the test and the training data, such as %s", count, example)
	}
	return nil
}

// sideOf tells test files (1) from training files (-1) by the folders and the
// name; 0 where they do not say.
func (p *preparedLinter) sideOf(name string) int {
	lower := strings.ToLower(name)
	switch test, train := strings.Contains(lower, "test"), strings.Contains(lower, "train"); {
	case test && !train:
		return 1
	case train && !test:
		return -1
	}
	return 0
}

// judgeTwins reports test rows that agree with a training row in every column
// that both tables have but the id. Columns that tell few rows apart prove
// nothing.
func (p *preparedLinter) judgeTwins(s side, t publicTable) {
	names := lists.Where(s.t.Names(), func(name string) bool {
		return name != p.plan.ID && t.t.Has(name) && !slices.Contains(p.plan.Truth, name)
	})
	if len(names) == 0 || s.name[:strings.LastIndex(s.name, "/")+1] == "" {
		return
	}
	known := map[string]int{}
	train, err := t.t.Select(names...)
	if err != nil {
		return
	}
	for i := range train.Len() {
		known[rowKey(train, i)] = i
	}
	if 2*len(known) < train.Len() {
		return
	}
	test, err := s.t.Select(names...)
	if err != nil {
		return
	}
	twin, agree := 0, 0
	for n, i := range s.rows {
		at, ok := known[rowKey(test, i)]
		if !ok {
			continue
		}
		twin++
		same := true
		for _, truth := range p.truths() {
			if labels, err := t.t.Column(truth.Name()); err == nil && labels.Text(at) != truth.Text(s.answers[n]) {
				same = false
			}
		}
		if same {
			agree++
		}
	}
	severity := Warning
	if len(s.rows) > 4 && 2*twin >= len(s.rows) {
		severity = Error
	}
	if 2*agree > twin { // twins with other answers tell nothing
		p.leak(severity, s.name, "", "%d of %d test rows are also in %s except for the id, %d of them with the same answer", twin, len(s.rows), t.name, agree)
	}
}

// rowKey returns the cells of a row as one string.
func rowKey(t *table.Table, i int) string {
	var b strings.Builder
	for _, c := range t.Columns() {
		b.WriteString(c.Text(i))
		b.WriteByte(0)
	}
	return b.String()
}
