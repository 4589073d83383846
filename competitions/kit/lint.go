package kit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Severity is the gravity of a finding.
type Severity string

// The severities. An error makes scores wrong or leaks answers; a warning is
// something to look at.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is something that looks wrong.
type Finding struct {
	// Rule is the name of the rule that found it.
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	// File and Column are the subject of the finding, for rules on data.
	File   string `json:"file,omitempty"`
	Column string `json:"column,omitempty"`
	// Excuse is why the finding is no news, "" if it is: see
	// competitions.Definition.Excuse.
	Excuse string `json:"excuse,omitempty"`
	// Range is its position in the definition, if there is one.
	Range *hcl.Range `json:"-"`
}

// Rule is a lint rule.
type Rule struct {
	Name string
	Doc  string
	// check is for rules on the definition, checkPrepared for those on data.
	check         func(*linter)
	checkPrepared func(*preparedLinter) error
}

// Rules returns the rules in the order in which they run.
func Rules() []Rule {
	return []Rule{
		{Name: "blocks", Doc: "The prepare, validation and grade blocks decode.", check: lintBlocks},
		{Name: "questions", Doc: "No question of a draft is left.", check: lintQuestions},
		{Name: "length", Doc: "No column is made of length(column), which is the number of rows.", check: lintLength},
		{Name: "pins", Doc: "Every source and table of the full data has its checksum.", check: lintPins},
		{Name: "layout", Doc: "Answers, sample and gold submission are outputs, the sample under public, the others under private.", check: lintLayout},
		{Name: "direction", Doc: "The metric's direction matches the leaderboard, which is in rank order.", check: lintDirection},
		{Name: "same-answers", Doc: "No public output has the same expression as the answers.", check: lintSameAnswers},
		{Name: "data-file", Doc: "The competition's own files are data, not pointers of Git LFS.", check: lintPointers},
		{Name: "columns", Doc: "The answers and the sample submission hold the id and target columns.", checkPrepared: lintColumns},
		{Name: "id-order", Doc: "If the ids must have the answers' order, the sample submission shows it.", checkPrepared: lintOrder},
		{Name: "ungraded-columns", Doc: "The answers have no column like a target that is neither public nor graded.", checkPrepared: lintUngraded},
		{Name: "reachable-answers", Doc: "No column of a public table holds the answers of the test rows.", checkPrepared: lintReachable},
		{Name: "determined-answers", Doc: "No column of a public table, and no size or name of a file, determines the answers, or unusual values of it more than chance would.", checkPrepared: lintDetermined},
		{Name: "ordered-answers", Doc: "Neither the ids nor the order of the rows sort the answers.", checkPrepared: lintOrdered},
		{Name: "sample-answers", Doc: "The sample submission is not the answers, nor close to them beyond chance.", checkPrepared: lintSample},
		{Name: "record-answers", Doc: "No TensorFlow record of a test row has a feature named as a target, class, label or target.", checkPrepared: lintRecords},
		{Name: "duplicates", Doc: "No test row or test file is in the training data, where its answer is known.", checkPrepared: lintDuplicates},
		{Name: "groups", Doc: "No group, by a column such as patient_id, has rows in train and test, unless most have and their answers differ.", checkPrepared: lintGroups},
		{Name: "prepared-file", Doc: "No prepared file is a pointer of Git LFS; no public file or zip member has a private file's bytes.", checkPrepared: lintPreparedFiles},
	}
}

// linter runs the rules that need the definition only.
type linter struct {
	def     *competitions.Definition
	metrics *metric.Registry
	rule    string
	found   []Finding
}

func (l *linter) report(s Severity, r *hcl.Range, format string, args ...any) {
	l.found = append(l.found, Finding{Severity: s, Rule: l.rule, Message: fmt.Sprintf(format, args...), Range: r})
}

// about sets the subject of the last finding, and its excuse if the definition
// has one.
func (l *linter) about(file, column string) {
	f := &l.found[len(l.found)-1]
	f.File, f.Column, f.Excuse = file, column, l.def.Excuse(l.rule, file, column)
}

// Lint looks for mistakes in a definition.
func Lint(def *competitions.Definition, metrics *metric.Registry) []Finding {
	l := &linter{def: def, metrics: metrics}
	for _, r := range Rules() {
		if l.rule = r.Name; r.check != nil {
			r.check(l)
		}
	}
	return l.found
}

func lintBlocks(l *linter) {
	_, found := grading.Decode(l.def, l.metrics, nil)
	found = append(prep.Check(l.def), found...)
	if held := l.def.Holdout(); held != l.def && !found.HasErrors() {
		found = append(found, prep.Check(held)...)
	}
	for _, d := range found {
		severity := Warning
		if d.Severity == hcl.DiagError {
			severity = Error
		}
		l.report(severity, d.Subject, "%s: %s", d.Summary, d.Detail)
	}
}

// lintQuestions looks for the questions of competition new --from that nobody has answered.
func lintQuestions(l *linter) {
	text, err := fs.ReadFile(l.def.Folder(), competitions.FileName)
	if err != nil {
		return
	}
	for i, line := range strings.Split(string(text), "\n") {
		if question, ok := strings.CutPrefix(strings.TrimSpace(line), questionMark); ok {
			at := hcl.Pos{Line: i + 1, Column: 1}
			l.report(Warning, &hcl.Range{Filename: l.def.FilePath(), Start: at, End: at}, "an open question: %s Delete the comment when it is answered", question)
		}
	}
}

// lintLength looks for columns that have the number of rows where the author may want the
// length of each string: members of assign, table and filter of length(t.name).
func lintLength(l *linter) {
	body, ok := l.def.Prepare.Body.(*hclsyntax.Body)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok || !slices.Contains([]string{"assign", "table", "filter"}, call.Name) {
			return nil
		}
		for _, arg := range call.Args {
			_ = hclsyntax.VisitAll(arg, func(n hclsyntax.Node) hcl.Diagnostics {
				inner, ok := n.(*hclsyntax.FunctionCallExpr)
				if !ok || inner.Name != "length" || len(inner.Args) != 1 {
					return nil
				}
				column := false
				switch of := inner.Args[0].(type) {
				case *hclsyntax.ScopeTraversalExpr:
					column = len(of.Traversal) > 1
				case *hclsyntax.RelativeTraversalExpr:
					column = true
				}
				if r := inner.Range(); column {
					l.report(Warning, &r, "length of a column is the number of rows, the same in each; characters(column) is the length of each string. If the number is meant, take that of the table")
				}
				return nil
			})
		}
		return nil
	})
}

func (l *linter) outputs() []prep.Output {
	out, _ := prep.Outputs(l.def)
	return out
}

func lintPins(l *linter) {
	for _, s := range l.def.Sources {
		if s.MD5 == "" && s.SHA256 == "" {
			l.report(Error, &s.Range, "source %q has neither md5 nor sha256: a changed download would go unnoticed%s", s.Kind, l.advice(s.Path))
			l.about(s.As, "")
		}
	}
	if len(l.def.Sources) == 0 {
		l.report(Error, nil, "there is no source block, so nobody can get the raw data")
	}
	if err := l.def.LockMissing(); err != nil {
		l.report(Error, nil, "%v", err)
	}
	pinned := l.def.Checksums.Pinned()
	for _, o := range l.outputs() {
		top := path.Dir(o.Path) == "public" || path.Dir(o.Path) == "private"
		if _, ok := pinned[o.Path]; !ok && top && (o.Kind == "table" || o.Kind == "json") {
			l.report(Warning, &o.Range, "%s has no checksum; prepare the full data and pin it", o.Path)
		}
	}
}

// advice tells the user how to pin a file next to the definition; "" for other files.
func (l *linter) advice(name string) string {
	if !fs.ValidPath(name) {
		return ""
	}
	f, err := l.def.Folder().Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return fmt.Sprintf("; write sha256 = \"%x\"", sum.Sum(nil))
}

func lintLayout(l *linter) {
	outputs := l.outputs()
	declared := func(name string) bool {
		return slices.ContainsFunc(outputs, func(o prep.Output) bool {
			return o.Path == name || o.Kind == "copy" && strings.HasPrefix(name, o.Path+"/") // of a folder
		})
	}
	layout := l.def.Layout
	for _, p := range []struct{ what, path string }{{"answers", layout.Answers}, {"sample", layout.Sample}, {"gold", layout.Gold}} {
		if !declared(p.path) && !l.def.PreparedByPython() {
			l.report(Error, nil, "%s = %q is not an output of the prepare block", p.what, p.path)
		}
	}
	if competitions.IsPublic(layout.Answers) || competitions.IsPublic(layout.Gold) {
		l.report(Error, nil, "the answers are under public, where agents can read them")
	}
	if !competitions.IsPublic(layout.Sample) {
		l.report(Warning, nil, "the sample submission %s is under private, where agents cannot read it", layout.Sample)
		l.about(layout.Sample, "")
	}
}

func lintDirection(l *linter) {
	medals := l.def.Medals
	if len(medals.Scores) == 0 {
		l.report(Warning, nil, "there is no leaderboard, so no medals")
		return
	}
	order := cmp.Compare[float64]
	if !medals.LowerIsBetter {
		order = func(a, b float64) int { return cmp.Compare(b, a) }
	}
	if !slices.IsSortedFunc(medals.Scores, order) {
		l.report(Error, nil, "the leaderboard is not in rank order, best first")
	}
	plan, diags := grading.Decode(l.def, l.metrics, nil)
	if diags.HasErrors() {
		return
	}
	if better := competitions.Direction(medals.LowerIsBetter); better != plan.Metric.Better {
		l.report(Error, &l.def.Grade.Range, "for metric %s %s is better, but the first team of the leaderboard has a %s score than the last",
			plan.Metric.Name, plan.Metric.Better, better)
	}
}

func lintSameAnswers(l *linter) {
	outputs := l.outputs()
	for _, answers := range outputs {
		if answers.Path != l.def.Layout.Answers || answers.Value == "" {
			continue
		}
		for _, o := range outputs {
			if competitions.IsPublic(o.Path) && o.Value == answers.Value {
				l.report(Error, &o.Range, "%s has the same value as the answers: %s", o.Path, o.Value)
			}
		}
	}
}

// pointer is how a file begins whose data Git LFS keeps elsewhere.
const pointer = "version https://git-lfs.github.com/spec/"

func lintPointers(l *linter) {
	_ = eachPointer(l.def.Folder(), func(name string) {
		l.report(Error, nil, "%s is a pointer of Git LFS, not the data; fetch them with git lfs pull", name)
	})
}

func eachPointer(folder fs.FS, found func(string)) error {
	return eachFile(folder, ".", func(f dataFile) error {
		if f.size > 1024 {
			return nil
		}
		data, err := fs.ReadFile(folder, f.name)
		if err == nil && bytes.HasPrefix(data, []byte(pointer)) {
			found(f.name)
		}
		return err
	})
}

// preparedLinter runs the rules that look at prepared data.
type preparedLinter struct {
	linter
	folder fs.FS
	plan   *grading.Plan
	// answers and sample are nil if the answers are no table.
	answers, sample *table.Table
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
	var err error
	if strings.HasSuffix(def.Layout.Answers, ".csv") {
		if p.answers, err = readTable(folder, def.Layout.Answers); err != nil {
			return nil, err
		}
		if p.sample, err = readTable(folder, def.Layout.Sample); err != nil {
			return nil, fmt.Errorf("lint %s: %w", def.ID, err)
		}
		p.indexAnswers()
	}
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
		{p.def.Layout.Sample, p.sample, append(id, p.plan.Targets...)},
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
	if _, err := p.plan.Sketch(p.sample, p.answers); err != nil {
		p.leak(Error, p.def.Layout.Sample, p.plan.ID, "%v", err)
	}
	return nil
}

// HasErrors reports whether findings hold an error without an excuse.
func HasErrors(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == Error && f.Excuse == "" })
}
