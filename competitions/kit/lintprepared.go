package kit

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/metric"
	"github.com/mleflow/mleflow/plugins/table"
)

// preparedLinter runs the rules that look at prepared data.
type preparedLinter struct {
	linter
	folder  fs.FS
	plan    *grading.Plan
	answers *table.Table
}

// LintPrepared looks for mistakes in what a definition prepared: folder holds
// public and private. An error says that the data could not be read.
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
	}
	for _, r := range Rules() {
		if p.rule = r.Name; r.lookPrepared == nil {
			continue
		}
		if err := r.lookPrepared(p); err != nil {
			return nil, fmt.Errorf("lint %s: %w", def.ID, err)
		}
	}
	return p.found, nil
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
		what  string
		t     *table.Table
		names []string
	}{{"answers", p.answers, append(id, p.plan.Truth...)}, {"sample submission", sample, append(id, p.plan.Targets...)}} {
		for _, name := range c.names {
			if !c.t.Has(name) {
				p.report(Error, &p.def.Grade.Range, "the %s have no column %q; they have %s", c.what, name, strings.Join(c.t.Names(), ", "))
			}
		}
	}
	return nil
}

// lintReachable looks for a column of a public table that agrees with the
// answers on every test row.
func lintReachable(p *preparedLinter) error {
	if p.answers == nil || p.plan.ID == "" || !p.answers.Has(p.plan.ID) {
		return nil
	}
	ids, err := p.answers.Column(p.plan.ID)
	if err != nil {
		return err
	}
	row := map[string]int{}
	for i := range ids.Len() {
		row[ids.Text(i)] = i
	}
	return fs.WalkDir(p.folder, "public", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isTable(name) || strings.Count(name, "/") > 1 {
			return err
		}
		t, err := readTable(p.folder, name)
		if err != nil || !t.Has(p.plan.ID) {
			return err
		}
		for _, target := range p.plan.Truth {
			if leak := p.agreeing(t, target, row); leak != "" {
				p.report(Error, nil, "%s: column %q holds the answers of column %q", name, leak, target)
			}
		}
		return nil
	})
}

// agreeing returns the column of t that equals the target on every test row of
// t, or "". A target with one value only proves nothing.
func (p *preparedLinter) agreeing(t *table.Table, target string, row map[string]int) string {
	truth, err := p.answers.Column(target)
	if err != nil {
		return ""
	}
	ids, err := t.Column(p.plan.ID)
	if err != nil {
		return ""
	}
	for _, c := range t.Columns() {
		if c.Name() == p.plan.ID {
			continue
		}
		matched, values := 0, map[string]bool{}
		for i := range t.Len() {
			k, ok := row[ids.Text(i)]
			if !ok {
				continue
			}
			if c.Text(i) != truth.Text(k) {
				matched = 0
				break
			}
			matched++
			values[truth.Text(k)] = true
		}
		if matched > 4 && len(values) > 1 {
			return c.Name()
		}
	}
	return ""
}

func lintPreparedFiles(p *preparedLinter) error {
	if err := eachPointer(p.folder, func(name string) {
		p.report(Error, nil, "%s is a pointer of Git LFS, not the data", name)
	}); err != nil {
		return err
	}
	answers, err := fs.ReadFile(p.folder, p.def.Layout.Answers)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(answers)
	return fs.WalkDir(p.folder, "public", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() != int64(len(answers)) {
			return err
		}
		data, err := fs.ReadFile(p.folder, name)
		if other := sha256.Sum256(data); err == nil && bytes.Equal(other[:], sum[:]) {
			p.report(Error, nil, "%s has the bytes of the answers", name)
		}
		return err
	})
}

// HasErrors reports whether findings hold an error.
func HasErrors(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == Error })
}
