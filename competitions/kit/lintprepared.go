package kit

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// preparedLinter runs the rules that look at prepared data.
type preparedLinter struct {
	linter
	folder  fs.FS
	plan    *grading.Plan
	answers *table.Table
	// row is the row of the answers by the text of its id.
	row    map[string]int
	public *publicData
}

// leak reports a finding about a file and a column.
func (p *preparedLinter) leak(s Severity, file, column, format string, args ...any) {
	p.report(s, nil, "%s: %s", file, fmt.Sprintf(format, args...))
	p.about(file, column)
}

// LintPrepared looks for mistakes in the data that a definition prepared: folder
// holds public and private. An error says that the data could not be read.
func LintPrepared(def *competitions.Definition, metrics *metric.Registry, folder fs.FS) ([]Finding, error) {
	plan, diags := grading.Decode(def, metrics, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	p := &preparedLinter{linter: linter{def: def, metrics: metrics}, folder: folder, plan: plan}
	if isTable(def.Layout.Answers) {
		var err error
		if p.answers, err = readTable(folder, def.Layout.Answers); err != nil {
			return nil, err
		}
		p.indexAnswers()
	}
	var err error
	if p.public, err = scanPublic(folder); err != nil {
		return nil, fmt.Errorf("lint %s: %w", def.ID, err)
	}
	for _, r := range Rules() {
		if p.rule = r.Name; r.checkPrepared == nil {
			continue
		}
		if err := r.checkPrepared(p); err != nil {
			return nil, fmt.Errorf("lint %s: %w", def.ID, err)
		}
	}
	return p.found, nil
}

// indexAnswers notes the row of each id; none where rows are paired by place.
func (p *preparedLinter) indexAnswers() {
	ids, err := p.answers.Column(p.plan.ID)
	if p.plan.ID == "" || err != nil {
		return
	}
	p.row = make(map[string]int, ids.Len())
	for i := range ids.Len() {
		p.row[ids.Text(i)] = i
	}
}

// truths returns the columns of the answers that are graded.
func (p *preparedLinter) truths() (out []*table.Column) {
	if p.answers == nil {
		return nil
	}
	for _, name := range p.plan.Truth {
		if c, err := p.answers.Column(name); err == nil {
			out = append(out, c)
		}
	}
	return out
}

func readTable(folder fs.FS, name string) (*table.Table, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := table.ReadCSV(f, table.ReadOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func lintColumns(p *preparedLinter) error {
	if p.answers == nil {
		return nil
	}
	sample, err := readTable(p.folder, p.def.Layout.Sample)
	if err != nil {
		return err
	}
	id := []string{}
	if p.plan.ID != "" {
		id = append(id, p.plan.ID)
	}
	for _, c := range []struct {
		file  string
		t     *table.Table
		names []string
	}{
		{p.def.Layout.Answers, p.answers, append(id, p.plan.Truth...)},
		{p.def.Layout.Sample, sample, append(id, p.plan.Targets...)},
	} {
		for _, name := range c.names {
			if !c.t.Has(name) {
				p.leak(Error, c.file, name, "there is no column %q; there are %s", name, strings.Join(c.t.Names(), ", "))
				p.found[len(p.found)-1].Range = &p.def.Grade.Range
			}
		}
	}
	return nil
}

func lintOrder(p *preparedLinter) error {
	if p.answers == nil || HasErrors(p.found) {
		return nil
	}
	sample, err := readTable(p.folder, p.def.Layout.Sample)
	if err != nil {
		return err
	}
	if _, err := p.plan.Sketch(sample, p.answers); err != nil {
		p.leak(Error, p.def.Layout.Sample, p.plan.ID, "%v", err)
	}
	return nil
}

// HasErrors reports whether findings hold an error without an excuse.
func HasErrors(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == Error && f.Excuse == "" })
}
