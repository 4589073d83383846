package docgen

import (
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/data/transform"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Metrics returns the page on metrics and requirements of the grade block.
func Metrics(metrics *metric.Registry) []byte {
	p := newPage("Metrics and requirements")
	p.text("The metrics and requirements of a competition's `grade` block. Lint and test a definition that uses them:")
	p.code("sh", "mleflow competition lint ID && mleflow competition test ID")
	p.heading(2, "Metrics")
	for _, m := range metrics.List() {
		p.heading(3, m.Name)
		p.text(m.Doc)
		p.textf("Better is %s. Source: %s.", m.Better, strings.TrimSuffix(m.Source, "."))
		p.params(m.Params)
	}
	p.heading(2, "Requirements")
	p.text("Attributes of `require` blocks, checked in the order in which they are written. The first that is not met makes the submission invalid, and is the reason.")
	var rows [][]string
	for _, r := range grading.Rules() {
		rows = append(rows, []string{term(r.Name, r.Value), r.Doc})
	}
	p.terms(rows)
	p.choices("align", "How rows are paired", grading.Alignments)
	p.choices("cells", "How cells are compared", grading.CellForms)
	p.choices("targets_by", "How target columns are found", grading.TargetPairings)
	return p.bytes()
}

// params writes the parameters of a metric.
func (p *page) params(params []metric.Param) {
	var rows [][]string
	for _, param := range params {
		doc := capitalize(strings.TrimSuffix(param.Doc, ".")) + "."
		if len(param.OneOf) > 0 {
			doc += " One of " + code(strings.Join(param.OneOf, "`, `")) + "."
		}
		rows = append(rows, []string{term(param.Name, param.Kind.String(), paramDefault(param.Default)), doc})
	}
	p.terms(rows)
}

func paramDefault(v any) string {
	if v == nil {
		return "required"
	}
	return code(fmt.Sprintf("%v", v))
}

func (p *page) choices(attribute, title string, choices []grading.Choice) {
	p.heading(2, title)
	p.textf("Values of the attribute %s.", code(attribute))
	var rows [][]string
	for _, c := range choices {
		rows = append(rows, []string{code(c.Name), c.Doc})
	}
	p.terms(rows)
}

// Transforms returns the page on what a prepare block is made of.
func Transforms(verbs []transform.Verb) []byte {
	p := newPage("Preparation")
	p.text("The blocks of a competition's `prepare` block, which declare output files, and its functions over tables, columns and rows. Run one:")
	p.code("sh", "mleflow prepare -c ID --data-dir data")
	p.heading(2, "Outputs")
	var rows [][]string
	for _, o := range prep.OutputDocs() {
		rows = append(rows, []string{code(o.Name) + " (" + code(strings.Join(o.Attributes, "`, `")) + ")", o.Doc})
	}
	p.terms(rows)
	p.text("Every output takes `for_each`, a list of strings or an object of plain values, not data. It is then made once for each element, which is `{each.key}` in its destination, and `each.key` and `each.value` in its attributes.")
	p.heading(2, "Functions")
	p.text("What a function equals in Python follows \"=\".")
	for _, v := range verbs {
		p.heading(3, v.Name+"("+strings.Join(v.Params, ", ")+")")
		p.text(v.Summary + " " + v.Detail)
		if v.Source != "" {
			p.text("= " + code(strings.TrimSuffix(v.Source, ".")))
		}
	}
	return p.bytes()
}
