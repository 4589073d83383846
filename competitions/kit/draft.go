package kit

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Note is a choice that a draft made.
type Note struct {
	// Question says that the author has to decide; the draft has one of the answers.
	Question bool   `json:"question"`
	Text     string `json:"text"`
}

// Page is what Kaggle says of a competition.
type Page struct{ Slug, Title, Metric string }

// DraftOptions say of what a draft is made.
type DraftOptions struct {
	// Files is a folder of CSV files; without one the draft has usual names.
	Files string
	// Page is that of the competition on Kaggle, from which the data come then; nil if the
	// data are Files.
	Page *Page
	// Targets, ID and Metric are the author's choices; what is empty is guessed.
	Targets    []string
	ID, Metric string
	Metrics    *metric.Registry
}

//go:embed draft.hcl.tmpl
var draftText string

var draftTemplate = template.Must(template.New("draft").Funcs(template.FuncMap{
	"q": quoted, "comment": comments, "list": func(s []string) string { return "[" + strings.Join(lists.Of(s, quoted), ", ") + "]" },
	"ids": func(d *draft) []string { return append([]string{d.IDColumn}, d.Targets...) },
}).Parse(draftText))

// draft holds the choices and the reasons for them, by the place of the comment.
type draft struct {
	outline
	o     DraftOptions
	files rawFiles
	kind  answerKind

	Title, MetricName, Params, Shape string
	Train, Test                      string                 // files; Test is empty unless it has answers
	Targets                          []string               // graded columns
	Raw                              []string               // the raw columns with the answers
	Classes                          []string               // as HCL, where the only raw column becomes a target per class
	mapped                           func(of string) string // how the only raw column is made the target, as HCL; nil if it stays
	IDColumn                         string
	NewID                            bool // IDs are made
	Split                            string
	Dropped                          bool   // rows without an answer are left out
	Constant                         string // what the sample submission predicts, as HCL
	Chances, Numbers                 bool   // what is predicted
	Notes                            map[string][]Note
	places                           []string
}

func (d *draft) guess(place, format string, args ...any) { d.note(place, false, format, args...) }
func (d *draft) ask(place, format string, args ...any)   { d.note(place, true, format, args...) }

func (d *draft) note(place string, question bool, format string, args ...any) {
	if d.Notes[place] == nil {
		d.places = append(d.places, place)
	}
	d.Notes[place] = append(d.Notes[place], Note{question, plain.Line(fmt.Sprintf(format, args...))})
}

// comments are the lines of a place's notes.
func comments(notes []Note) string {
	return strings.Join(lists.Of(notes, func(n Note) string {
		if n.Question {
			return questionMark + n.Text
		}
		return "# Guessed: " + n.Text
	}), "\n")
}

// questionMark begins a comment that an author has to answer.
const questionMark = "# Question: "

// quoted returns a string as HCL.
func quoted(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

// Origin says of what the draft is made.
func (d *draft) Origin() string {
	if d.o.Files == "" {
		return ""
	}
	return plain.Line(" of the files in " + d.o.Files)
}

// Locals are the expressions of the prepare block, one per line.
func (d *draft) Locals() string {
	lines, number := d.chain(d.Train, "all"), "test"
	if d.Test != "" {
		lines = append(append(d.chain(d.Train, "train"), d.chain(d.Test, "tested")...), "test = tested")
	} else {
		lines = append(lines, "parts = "+d.Split, "train = parts.train", "test = parts.test")
	}
	if d.NewID {
		last := len(lines) - 1
		_, number, _ = strings.Cut(lines[last], " = ")
		lines[last] = fmt.Sprintf("test = assign(sample(%s, { share = 1, random_state = 0 }), { %s = sequence(%s) })", number, d.IDColumn, number)
	}
	return strings.Join(lines, "\n")
}

// chain are the locals that read a file, leave out rows without an answer and make flags.
func (d *draft) chain(file, into string) []string {
	lines := []string{"csv(" + quoted(file) + ")"}
	if d.Dropped {
		known := lists.Of(d.Raw, func(name string) string { return "isna(" + columnOf(into+"_1", name) + ") == false" })
		lines = append(lines, fmt.Sprintf("filter(%s_1, %s)", into, strings.Join(known, " && ")))
	}
	if of := fmt.Sprintf("%s_%d", into, len(lines)); d.mapped != nil {
		lines = append(lines, fmt.Sprintf("assign(%s, { %s = %s })", of, quoted(d.Raw[0]), d.mapped(of)))
	}
	for i := range lines {
		if name := fmt.Sprintf("%s_%d", into, i+1); i < len(lines)-1 {
			lines[i] = name + " = " + lines[i]
		} else {
			lines[i] = into + " = " + lines[i]
		}
	}
	return lines
}

// columnOf returns a column of a table as HCL.
func columnOf(of, name string) string {
	if hclsyntax.ValidIdentifier(name) {
		return of + "." + name
	}
	return of + "[" + quoted(name) + "]"
}

// Draft writes a definition to the new folder dir/id that was guessed from files, and says
// what was guessed. The files are packed into it, unless they come from Kaggle or are large.
// A choice that cannot be made is an error that says what to give.
func Draft(dir, id string, o DraftOptions) ([]Note, error) {
	from := "tabular"
	if o.Page != nil {
		from = kaggle + o.Page.Slug
	}
	head, err := newOutline(id, from)
	if err != nil {
		return nil, err
	}
	d := &draft{outline: head, o: o, Notes: map[string][]Note{}, Title: id}
	if err := d.choose(); err != nil {
		return nil, fmt.Errorf("draft %s: %w", id, err)
	}
	err = writeFolder(dir, id, func(folder string) ([]byte, error) {
		if err := d.packFiles(folder); err != nil {
			return nil, err
		}
		var text bytes.Buffer
		err := draftTemplate.Execute(&text, d)
		return hclwrite.Format(text.Bytes()), err
	})
	var all []Note
	for _, place := range d.places {
		all = append(all, d.Notes[place]...)
	}
	slices.SortStableFunc(all, func(a, b Note) int { return cmp.Compare(count(a.Question), count(b.Question)) })
	return all, err
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// choose makes the choices in the order in which one follows from another.
func (d *draft) choose() error {
	if d.o.Page != nil {
		d.Title = cmp.Or(fmt.Sprintf("%.200s", plain.Line(d.o.Page.Title)), d.ID)
	}
	if d.o.Files == "" {
		d.usual()
		return d.chooseMetric()
	}
	for _, step := range []func() error{d.readFiles, d.chooseTarget, d.chooseID, d.chooseSplit, d.chooseMetric} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// usual takes the names that most competitions have.
func (d *draft) usual() {
	d.Train, d.Targets, d.IDColumn = "train.csv", d.o.Targets, cmp.Or(d.o.ID, "id")
	if len(d.Targets) == 0 {
		d.Targets = []string{"label"}
	}
	d.Raw, d.Category, d.kind, d.Constant = d.Targets, "tabular-classification", binary, "0.5"
	d.Split = "train_test_split(all, { test_size = 0.2, random_state = 0 })"
	d.ask("files", "are %s, %s and %s the names? The files are not here. Download and unpack them, and draft again with --raw FOLDER.", d.Train, d.IDColumn, d.Targets[0])
}

// chooseMetric takes the author's metric, that of the page, or a usual one of the answers.
func (d *draft) chooseMetric() error {
	found, known, err := metricNamed(d.o.Metrics, d.o.Metric)
	if err != nil {
		return err
	}
	if d.o.Page != nil && !known {
		found, known, err = metricNamed(d.o.Metrics, d.o.Page.Metric)
		switch {
		case err != nil:
			d.ask("grade", "Kaggle's metric is %.200q, of which docs/metrics.md has no line. Which one of its metrics is it, or is it a program of your own?", d.o.Page.Metric)
		case known:
			d.guess("grade", "metric: Kaggle says %q.", d.o.Page.Metric)
		}
	}
	if !known {
		found = named{metric: d.usualMetric()}
	}
	if m, err := d.o.Metrics.Get(found.metric); err == nil && found.args == nil {
		found.args = d.usualArgs(m)
	}
	if len(found.args) > 0 {
		d.Params = found.args.HCL()
		d.ask("grade", "are these params right? They are an example.")
	}
	d.MetricName = found.metric
	return d.fitAnswers()
}

// named is a metric and arguments of it.
type named struct {
	metric string
	args   metric.Args
}

// metricNamed finds a metric by our name or Kaggle's; case, punctuation and what is in
// brackets do not count.
func metricNamed(all *metric.Registry, name string) (n named, ok bool, err error) {
	if name == "" {
		return n, false, nil
	}
	byKey := map[string]named{}
	for _, m := range all.List() {
		for alias, args := range m.Kaggle {
			byKey[lettersOf(alias)] = named{m.Name, args}
			short, _, _ := strings.Cut(alias, "(")
			if _, taken := byKey[lettersOf(short)]; !taken {
				byKey[lettersOf(short)] = named{m.Name, args}
			}
		}
	}
	if m, err := all.Get(name); err == nil {
		return named{metric: m.Name}, true, nil
	}
	if n, ok = byKey[lettersOf(name)]; ok {
		return n, true, nil
	}
	return n, false, fmt.Errorf("metric %q: %s", name, diag.Suggest(name, all.Names()))
}

func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}
