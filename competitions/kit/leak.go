package kit

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// side is the test rows of a public table next to the answers' rows.
type side struct {
	publicTable
	rows, answers []int
}

// testSides returns the public tables that hold the test rows and not the
// answers: nine in ten of the answers' ids at least, or as many rows as the
// answers where rows are paired by place. The sample is not among them.
func (p *preparedLinter) testSides() (out []side) {
	for _, t := range p.public.tables {
		if t.name == p.def.Layout.Sample || p.labelled(t.t) {
			continue
		}
		s := side{publicTable: t}
		s.rows, s.answers = p.paired(t.t)
		if p.row == nil && p.answers != nil && t.t.Len() == p.answers.Len() && strings.Contains(strings.ToLower(t.name), "test") {
			for i := range t.t.Len() {
				s.rows, s.answers = append(s.rows, i), append(s.answers, i)
			}
		}
		if p.answers != nil && len(s.rows) > 0 && 10*len(s.rows) >= 9*p.answers.Len() {
			out = append(out, s)
		}
	}
	return out
}

// paired returns the rows of a table whose ids the answers have, next to the
// rows of the answers.
func (p *preparedLinter) paired(t *table.Table) (rows, answers []int) {
	ids, err := t.Column(p.plan.ID)
	if err != nil {
		return nil, nil
	}
	for i := range ids.Len() {
		if k, ok := p.row[ids.Text(i)]; ok {
			rows, answers = append(rows, i), append(answers, k)
		}
	}
	return rows, answers
}

// labelled reports whether a table holds a graded column, as training data do.
func (p *preparedLinter) labelled(t *table.Table) bool {
	return slices.ContainsFunc(slices.Concat(p.plan.Targets, p.plan.Truth), t.Has)
}

// trainSides returns the tables with graded columns that are not the sample,
// nor a file of its name in an archive.
func (p *preparedLinter) trainSides() []publicTable {
	sample := p.def.Layout.Sample
	return lists.Where(p.public.tables, func(t publicTable) bool {
		return t.name != sample && p.labelled(t.t) && !strings.HasSuffix(t.name, "!"+path.Base(sample))
	})
}

// lintReachable looks for a column of a public table that agrees with the
// answers on every test row.
func lintReachable(p *preparedLinter) error {
	if p.row == nil {
		return nil
	}
	for _, t := range p.public.tables {
		rows, answers := p.paired(t.t)
		for _, truth := range p.truths() {
			if column := p.agreeing(t.t, rows, lists.Of(answers, truth.Text)); column != "" {
				p.leak(Error, t.name, column, "column %q holds the answers of column %q", column, truth.Name())
			}
		}
	}
	for _, name := range p.public.large {
		p.leak(Warning, name, "", "the table is too large to be checked")
	}
	return nil
}

// agreeing returns the column of t that equals the answers on all test rows, or
// "". Few answers prove nothing, nor do answers with one value only.
func (p *preparedLinter) agreeing(t *table.Table, rows []int, answers []string) string {
	if len(rows) < 5 || !slices.ContainsFunc(answers, func(a string) bool { return a != answers[0] }) {
		return ""
	}
	for _, c := range t.Columns() {
		same := func(i int, answer string) bool { return c.Text(i) == answer }
		if c.Name() != p.plan.ID && slices.EqualFunc(rows, answers, same) {
			return c.Name()
		}
	}
	return ""
}

// lintDetermined looks for columns, sizes and names that give the answers.
func lintDetermined(p *preparedLinter) error {
	for _, s := range p.testSides() {
		for _, c := range s.t.Columns() {
			if c.Name() == p.plan.ID {
				continue
			}
			for _, truth := range p.truths() {
				p.judge(s.name, c.Name(), truth.Name(), p.withTraining(s, c, truth))
				p.judgeOrder(s, c, truth)
			}
		}
	}
	for _, truth := range p.truths() {
		for _, about := range p.fileFacts() {
			p.judge(about.file, about.column, truth.Name(), pairs{about.values, lists.Of(about.answers, truth.Text)})
		}
	}
	return nil
}

// withTraining pairs a column with the answers: of the test rows, and of the
// training rows where a table has both columns.
func (p *preparedLinter) withTraining(s side, c, truth *table.Column) pairs {
	out := pairs{lists.Of(s.rows, c.Text), lists.Of(s.answers, truth.Text)}
	for _, t := range p.trainSides() {
		values, err := t.t.Column(c.Name())
		labels, other := t.t.Column(truth.Name())
		if err != nil || other != nil || strings.Contains(t.name, "!") {
			continue
		}
		out.values, out.truths = append(out.values, values.Texts()...), append(out.truths, labels.Texts()...)
	}
	return out
}

// judge reports a column that gives the answers.
func (p *preparedLinter) judge(file, column, target string, at pairs) {
	shares, enough := at.shares()
	if !enough {
		return
	}
	if chance, distinct, ok := at.determined(shares); ok && chance < surely {
		p.leak(Error, file, column, "%s has %d values in %d rows and determines the answers of column %q; by chance that happens once in 10^%.0f times",
			column, distinct, len(at.values), target, -chance)
		return
	}
	if usual, answer, rows, chance, ok := at.unusual(shares); ok && chance < surely {
		what := "empty"
		if usual != "" {
			what = fmt.Sprintf("%q", clip(usual))
		}
		p.leak(Error, file, column, "wherever %s is not %s (%d of %d rows) the answer of column %q is %q; by chance that happens once in 10^%.0f times",
			column, what, rows, len(at.values), target, clip(answer), -chance)
	}
}

// clip shortens a value for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// judgeOrder reports a column of numbers that orders the test rows as the
// answers do.
func (p *preparedLinter) judgeOrder(s side, c, truth *table.Column) {
	if !c.Kind().IsNumber() || !truth.Kind().IsNumber() {
		return
	}
	if monotone(lists.Of(s.rows, c.Float), lists.Of(s.answers, truth.Float)) {
		p.leak(Error, s.name, c.Name(), "column %q orders the test rows exactly as the answers of column %q do", c.Name(), truth.Name())
	}
}

// fact is a statement of the public files about the test rows.
type fact struct {
	file, column string
	values       []string
	answers      []int
}

// fileFacts returns, for the files that carry ids of test rows in their names,
// which names an id has, and how large the files of each kind of name are.
func (p *preparedLinter) fileFacts() []fact {
	sizes := map[string]map[int]int64{} // by template and row of the answers
	for _, f := range p.public.files {
		for template, k := range p.idsIn(f.name) {
			if sizes[template] == nil {
				sizes[template] = map[int]int64{}
			}
			sizes[template][k] = f.size
		}
	}
	if len(sizes) == 0 {
		return nil
	}
	templates := slices.Sorted(maps.Keys(sizes))
	names := fact{file: "public", column: "the name of the file"}
	var out []fact
	for k := range p.answers.Len() {
		has := lists.Where(templates, func(template string) bool { _, ok := sizes[template][k]; return ok })
		names.add(strings.Join(has, " "), k)
	}
	for _, t := range templates {
		if 10*len(sizes[t]) < 9*p.answers.Len() {
			continue
		}
		about := fact{file: t, column: "the size of the file"}
		for k := range p.answers.Len() {
			if size, ok := sizes[t][k]; ok {
				about.add(table.FormatFloat(float64(size)), k)
			}
		}
		out = append(out, about)
	}
	return append(out, names)
}

func (f *fact) add(value string, row int) {
	f.values, f.answers = append(f.values, value), append(f.answers, row)
}

// idsIn returns the ids of test rows in a file's name, as the name with {id} in
// the id's place and the id's row: the name without or with its extension, or
// else a word of it.
func (p *preparedLinter) idsIn(name string) map[string]int {
	if p.row == nil {
		return nil
	}
	base := name[strings.LastIndexAny(name, "/!")+1:]
	dir := name[:len(name)-len(base)]
	stem := strings.TrimSuffix(base, path.Ext(base))
	if k, ok := p.row[base]; ok {
		return map[string]int{dir + "{id}": k}
	}
	if k, ok := p.row[stem]; ok {
		return map[string]int{dir + "{id}" + base[len(stem):]: k}
	}
	out := map[string]int{}
	words := strings.FieldsFunc(base, func(r rune) bool { return strings.ContainsRune("._- ", r) })
	for _, word := range words {
		if k, ok := p.row[word]; ok {
			out[dir+strings.Replace(base, word, "{id}", 1)] = k
		}
	}
	return out
}

func lintPreparedFiles(p *preparedLinter) error {
	if err := eachPointer(p.folder, func(name string) {
		p.leak(Error, name, "", "it is a pointer of Git LFS, not the data")
	}); err != nil {
		return err
	}
	files := slices.Clone(p.public.files)
	if err := eachFile(p.folder, "private", func(f dataFile) error {
		if f.name != p.def.Layout.Sample { // which is no secret
			files = append(files, f)
		}
		return nil
	}); err != nil {
		return err
	}
	same, err := twins(files)
	if err != nil {
		return err
	}
	for _, group := range same {
		secret := slices.IndexFunc(group, func(f dataFile) bool { return strings.HasPrefix(f.name, "private/") })
		for _, f := range group {
			if secret >= 0 && strings.HasPrefix(f.name, "public/") {
				p.leak(Error, f.name, "", "it has the bytes of %s", group[secret].name)
			}
		}
	}
	return nil
}

// spread is the number of standard deviations from the expected value that rule
// out chance.
const spread = 6

// lintSample compares the sample submission with the answers.
func lintSample(p *preparedLinter) error {
	if p.row == nil {
		return nil
	}
	rows, answers := p.paired(p.sample)
	for n, truth := range p.truths() {
		c, err := p.sample.Column(p.plan.Targets[min(n, len(p.plan.Targets)-1)])
		if err != nil {
			continue
		}
		var u, v []float64
		if c.Kind().IsNumber() && truth.Kind().IsNumber() {
			u, v = lists.Of(rows, c.Float), lists.Of(answers, truth.Float)
		}
		p.judgeSample(c.Name(), lists.Of(rows, c.Text), lists.Of(answers, truth.Text), u, v)
	}
	return nil
}

func (p *preparedLinter) judgeSample(column string, x, y []string, u, v []float64) {
	equal := 0
	expected, of := 0.0, map[string]float64{}
	for i := range x {
		if x[i] == y[i] {
			equal++
		}
		of[x[i]]++
	}
	if len(of) < 2 {
		return // a constant says nothing of single rows
	}
	for _, truth := range y {
		expected += of[truth] / float64(len(x))
	}
	deviation := math.Sqrt(max(float64(expected*(1-expected/float64(len(x)))), 0.25))
	r := correlation(u, v)
	switch file := p.def.Layout.Sample; {
	case equal == len(x) && len(x) > 4:
		p.leak(Error, file, column, "column %q holds the answers", column)
	case float64(equal)-expected > float64(spread*deviation):
		p.leak(Warning, file, column, "column %q agrees with the answers in %d of %d rows, where %.0f are expected", column, equal, len(x), expected)
	case math.Abs(r)*math.Sqrt(float64(len(u))) > spread:
		p.leak(Warning, file, column, "column %q correlates with the answers by %.2f over %d rows", column, r, len(u))
	}
}
