package kit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// chances are the metrics of probabilities of two classes.
var chances = []string{"roc_auc", "average_precision", "brier", "log_loss", "gini", "weighted_auc", "probabilistic_f1"}

// usualMetric returns a usual metric of such answers.
func (d *draft) usualMetric() string {
	usual, others := "accuracy", "f1, balanced_accuracy, mcc, log_loss"
	switch {
	case d.Classes != nil:
		usual, others = "log_loss", "roc_auc, average_precision"
	case d.kind == numbers:
		usual, others = "rmse", "mae, rmsle, mape, r2"
	case d.kind == binary && d.zeroOne():
		usual, others = "roc_auc", "average_precision, log_loss, f1, accuracy"
	case d.kind == words:
		usual, others = "levenshtein", "accuracy, word_error_rate"
	}
	d.ask("grade", "which metric? %s is usual for such answers; others are %s (docs/metrics.md).", usual, others)
	return usual
}

// usualArgs returns the arguments that a metric needs, as examples; nil if it needs none.
func (d *draft) usualArgs(m metric.Metric) (args metric.Args) {
	needed := lists.Where(m.Params, func(p metric.Param) bool { return p.Default == nil })
	for _, p := range needed {
		if p.Name != "average" {
			for _, alias := range slices.Sorted(maps.Keys(m.Kaggle)) {
				args = m.Kaggle[alias]
			}
			return args
		}
		args = metric.Args{"average": "macro"}
		if len(d.Raw) > 1 {
			args["average"] = "samples"
		}
	}
	return args
}

// zeroOne reports whether the answers of two classes are 0 and 1, or booleans.
func (d *draft) zeroOne() bool {
	return !slices.ContainsFunc(d.rawColumns(), func(c *table.Column) bool {
		return c.Kind() != table.Bool && slices.ContainsFunc(valuesOf(c, 2), func(v table.Value) bool { return !v.Kind().IsNumber() || v.Float() != 0 && v.Float() != 1 })
	})
}

// rawColumns are the columns with the answers; none without files.
func (d *draft) rawColumns() (out []*table.Column) {
	if d.files.train == nil {
		return nil
	}
	for _, name := range d.Raw {
		if c, err := d.files.train.Column(name); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// fitAnswers makes the answers and the sample submission what the metric compares.
func (d *draft) fitAnswers() error {
	d.describe()
	columns := d.rawColumns()
	if len(columns) == 0 {
		d.Chances = slices.Contains(chances, d.MetricName)
		return nil
	}
	only := columns[0]
	if d.MetricName == "log_loss" && d.kind == classes && d.Classes == nil && len(columns) == 1 {
		values := lists.Of(valuesOf(only, mostClasses), wholeValue)
		slices.SortFunc(values, func(a, b table.Value) int { return strings.Compare(a.String(), b.String()) })
		d.toClasses(lists.Of(values, table.Value.String), values)
		d.guess("grade", "targets: a probability of each value of %q.", only.Name())
	}
	for _, name := range d.Targets {
		if d.Classes != nil && (name == d.IDColumn || d.files.train.Has(name)) {
			return fmt.Errorf("class %.60q of %q is the name of a column, too; rename one of them", name, only.Name())
		}
	}
	switch {
	case d.Classes != nil:
		d.Chances, d.Constant = true, fmt.Sprintf("1 / %d", len(d.Classes))
	case d.kind == binary && slices.Contains(chances, d.MetricName) && len(columns) == 1:
		d.Chances, d.Constant = true, "0.5"
		d.toFlags(only)
	case d.kind == binary && slices.Contains(chances, d.MetricName):
		d.Chances, d.Constant = true, "0.5"
	case d.Numbers && len(columns) == 1:
		d.Constant = "mean(" + columnOf("train", only.Name()) + ")"
	case d.Numbers:
		d.Constant = "0"
	default:
		d.Constant = commonest(only)
	}
	if d.mapped == nil && len(columns) == 1 && only.Kind() == table.Float64 && d.kind != numbers && !slices.ContainsFunc(valuesOf(only, mostClasses), func(v table.Value) bool { return wholeValue(v) == v }) {
		d.mapped = func(of string) string { return "integer(" + columnOf(of, only.Name()) + ")" }
		d.guess("locals", "%q holds integers, which the file has as floats.", only.Name())
	}
	return nil
}

// wholeValue returns a float that is an integer as one, other values as they are.
func wholeValue(v table.Value) table.Value {
	if n := int64(v.Float()); v.Kind() == table.Float64 && float64(n) == v.Float() {
		return table.IntValue(n)
	}
	return v
}

// toFlags makes 1 of one class and 0 of the other, unless they are these.
func (d *draft) toFlags(c *table.Column) {
	switch values := valuesOf(c, 2); {
	case c.Kind() == table.Bool || c.Kind() == table.Mixed && values[0].Kind() == table.Bool:
		d.mapped = func(of string) string { return columnOf(of, c.Name()) + " ? 1 : 0" }
	case !d.zeroOne():
		groups := lists.By(rowsOf(c), c.Text)
		rare := slices.MinFunc(values, func(a, b table.Value) int { return len(groups[a.String()]) - len(groups[b.String()]) })
		d.mapped = func(of string) string { return columnOf(of, c.Name()) + " == " + literal(rare) + " ? 1 : 0" }
		d.ask("locals", "is %.60q of %q the positive class? It has %d of %d rows.", rare.String(), c.Name(), len(groups[rare.String()]), c.Len())
	}
}

// commonest returns the most frequent value as HCL; of equals the first.
func commonest(c *table.Column) string {
	groups := lists.By(rowsOf(c), c.Text)
	values := valuesOf(c, c.Len())
	return literal(wholeValue(slices.MaxFunc(values, func(a, b table.Value) int { return len(groups[a.String()]) - len(groups[b.String()]) })))
}

// unescaped are the beginnings of templates, which a text of files must not have.
var unescaped = strings.NewReplacer("${", "$${", "%{", "%%{")

// describe writes the stub of the description.
func (d *draft) describe() {
	lines := []string{fmt.Sprintf("Predict %s for each row of test.csv.", someOf(d.Raw))}
	if d.files.train != nil {
		lines = append(lines, fmt.Sprintf("train.csv has rows with answers. Columns of %s, of which say what they mean:", d.Train))
		for i, c := range d.files.train.Columns() {
			if i == 40 {
				lines = append(lines, fmt.Sprintf("and %d more columns", len(d.files.train.Columns())-i))
				break
			}
			lines = append(lines, fmt.Sprintf("- %.60q: %s", c.Name(), c.Kind()))
		}
	}
	columns := append([]string{d.IDColumn}, d.Targets...)
	lines = append(lines, fmt.Sprintf("A submission has the columns %s. The score is %s.", someOf(columns), d.MetricName))
	d.Shape = unescaped.Replace(strings.Join(lines, "\n    "))
}
