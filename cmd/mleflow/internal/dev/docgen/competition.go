package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/data/transform"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// metricsPage returns the page on metrics and requirements of the grade block.
func metricsPage(metrics *metric.Registry) []byte {
	p := newPage("Metrics and requirements")
	p.text("The metrics and requirements of a competition's `grade` block. Lint and test one:")
	p.code("sh", "mleflow competition lint ID && mleflow competition test ID")
	p.heading(2, "Metrics")
	var all [][]string
	for _, m := range metrics.List() {
		all = append(all, params(m.Params)...)
	}
	shared := repeated(all, 3)
	p.text("Metrics only name the shared parameters:")
	p.terms(shared)
	for _, m := range metrics.List() {
		p.heading(3, m.Name)
		p.text(m.Doc)
		p.textf("Better is %s. Source: %s.", m.Better, strings.TrimSuffix(m.Source, "."))
		own, also := without(params(m.Params), shared)
		if len(also) > 0 {
			p.text("Shared: " + strings.Join(also, ", ") + ".")
		}
		p.terms(own)
	}
	p.heading(2, "Kaggle's metrics and ours")
	p.text("What a Kaggle page calls a metric, and the lines of a `grade` block that compute it. Values of parameters are examples.")
	kaggle := map[string]string{}
	for _, m := range metrics.List() {
		for name, args := range m.Kaggle {
			kaggle[name] = code("metric = "+strconv.Quote(m.Name)) + written(args)
		}
	}
	for _, name := range metric.Absent {
		kaggle[name] = "not built; [a program](competitions.md#a-metric-of-your-own) can compute it"
	}
	p.table([]string{"Kaggle", "Here"}, lists.OfMap(kaggle, func(name, here string) []string { return []string{name, here} }))
	p.heading(2, "Attributes of the grade block")
	for _, a := range grading.Attributes {
		p.heading(3, a.Name)
		p.text(a.Doc)
		p.code("hcl", a.Example)
	}
	p.heading(2, "Requirements")
	p.text("Attributes of `require` blocks, checked as written. The first that fails makes the submission invalid, and is the reason.")
	var rows [][]string
	for _, r := range grading.Rules() {
		rows = append(rows, []string{term(r.Name, r.Value), r.Doc})
	}
	p.terms(rows)
	p.choices("align", "How rows are paired", grading.Alignments)
	p.choices("cells", "How cells are compared", grading.CellForms)
	p.choices("targets_by", "How target columns are found", grading.TargetPairings)
	p.choices("rounding", "How scores are rounded", grading.RoundingChoices)
	return p.bytes()
}

// written returns arguments as a grade block has them.
func written(args metric.Args) string {
	if len(args) == 0 {
		return ""
	}
	return ", " + code("params = "+args.HCL())
}

// params returns the rows of a metric's parameters.
func params(params []metric.Param) (rows [][]string) {
	for _, param := range params {
		doc := capitalize(strings.TrimSuffix(param.Doc, ".")) + "."
		if len(param.OneOf) > 0 {
			doc += " One of " + code(strings.Join(param.OneOf, "`, `")) + "."
		}
		rows = append(rows, []string{term(param.Name, param.Kind.String(), paramDefault(param.Default)), doc})
	}
	return rows
}

func paramDefault(v any) string {
	if v == nil {
		return "required"
	}
	return code(fmt.Sprintf("%v", v))
}

func (p *page) choices(attribute, title string, choices []grading.Choice) {
	p.heading(2, title+": "+code(attribute))
	var rows [][]string
	for _, c := range choices {
		rows = append(rows, []string{code(c.Name), c.Doc})
	}
	p.terms(rows)
}

// blocksPage returns the page on the blocks of a definition.
func blocksPage() []byte {
	p := newPage("Blocks of a competition")
	p.text("Every block of a `competition.hcl` with its attributes. [Preparation](preparation.md) has those of `prepare`, [metrics](metrics.md) those of `grade`; `locals` holds any names.")
	for _, b := range competitions.BlockDocs() {
		p.heading(2, b.Name)
		p.text(b.Doc)
		p.code("hcl", b.Example)
		p.terms(lists.Of(b.Attributes, func(a [2]string) []string { return []string{code(a[0]), a[1]} }))
	}
	return p.bytes()
}

// verbsPage returns the page on what a prepare block is made of.
func verbsPage(verbs []transform.Verb) []byte {
	p := newPage("Preparation")
	p.text("The output blocks and functions of a competition's `prepare` block. Run one:")
	p.code("sh", "mleflow prepare -c ID --data-dir data")
	p.heading(2, "Outputs")
	var rows [][]string
	for _, o := range prep.OutputDocs() {
		rows = append(rows, []string{code(o.Name) + " (" + code(strings.Join(o.Attributes, "`, `")) + ")", o.Doc})
	}
	p.terms(rows)
	p.text("Every output takes `for_each`, a list of strings or an object of plain values, not data. It is then made once for each element, which is `{each.key}` in its destination, and `each.key` and `each.value` in its attributes.")
	p.heading(2, "Splits")
	p.text("What scikit-learn and Kaggle's pages call a split, and the locals that make it of a table `all`. `parts` has `train` and `test`. Rows, folds and their order are those of scikit-learn 1.5.")
	p.table([]string{"Split", "Here"}, lists.Of(transform.Splits, func(s transform.Split) []string {
		return []string{s.Name, strings.Join(lists.Of(s.Locals, code), "<br>")}
	}))
	p.text("A test part with a public and a private score is not built. A competition has one score, that of all test rows or, with `only = { column = \"Usage\", equals = \"Private\" }` in its grade block, that of the private rows; agents then predict the public rows, too, which do not count.")
	p.heading(2, "Functions")
	p.text("Below a function is the Python that it equals.")
	for _, v := range verbs {
		p.heading(3, v.Name+"("+strings.Join(v.Params, ", ")+")")
		p.text(v.Summary + " " + v.Detail)
		if v.Source != "" {
			p.text(code(strings.TrimSuffix(v.Source, ".")))
		}
	}
	return p.bytes()
}
