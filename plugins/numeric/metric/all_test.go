package metric

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// Every Metric variable of the package is in the list, documented and of a
// name that a grade block can write.
func TestAllIsComplete(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			declared += metricVariables(d)
		}
	}
	if diff := cmp.Diff(declared, len(All().List())); diff != "" || declared == 0 {
		t.Errorf("metrics declared and listed differ:\n%s", diff)
	}
	kaggle := map[string]string{}
	for _, name := range Absent {
		kaggle[name] = "Absent"
	}
	for _, m := range All().List() {
		for name, args := range m.Kaggle {
			if _, err := All().Build(m.Name, args); err != nil || kaggle[name] != "" {
				t.Errorf("metric %s: Kaggle's %q: %v; also at %q", m.Name, name, err, kaggle[name])
			}
			kaggle[name] = m.Name
		}
		if m.Doc == "" || m.Source == "" || strings.ToLower(m.Name) != m.Name || strings.ContainsAny(m.Name, " -") {
			t.Errorf("metric %q lacks documentation or has a bad name", m.Name)
		}
		for _, p := range m.Params {
			if p.Doc == "" || p.Default != nil && p.check(p.Default) != nil {
				t.Errorf("metric %s: parameter %q has no documentation, or its default has a different type", m.Name, p.Name)
			}
		}
	}
}

func metricVariables(d ast.Decl) int {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return 0
	}
	n := 0
	for _, s := range g.Specs {
		for _, v := range s.(*ast.ValueSpec).Values {
			if lit, ok := v.(*ast.CompositeLit); ok {
				if id, ok := lit.Type.(*ast.Ident); ok && id.Name == "Metric" {
					n++
				}
			}
		}
	}
	return n
}

func TestBuildChecksArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		args Args
		want string
	}{
		{"none", nil, `no metric "none"`},
		{"kappa", Args{"weight": "linear"}, `no parameter is named "weight"`},
		{"kappa", Args{"weights": "cubic"}, "must be one of"},
		{"kappa", Args{"weights": 1.0}, "must be a string"},
		{"f1", nil, `parameter "average" (string) is missing`},
		{"mae", Args{"whole": "yes"}, "must be a bool"},
		{"dice", nil, "give height and width, or pixels"},
		{"bias_auc", Args{"identities": []string{}}, "no identities"},
	} {
		if _, err := All().Build(c.name, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Build(%q, %v): got %v, want %q in it", c.name, c.args, err, c.want)
		}
	}
}

func TestRegistryRefusesDuplicates(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two metrics of one name are accepted")
		}
	}()
	NewRegistry(accuracy, accuracy)
}

// someArgs makes every metric that needs arguments.
var someArgs = map[string]Args{
	"f1":                     {"average": "macro"},
	"map_at_k":               {"k": 3.0},
	"precision":              {"average": "binary"},
	"recall":                 {"average": "weighted"},
	"jaccard":                {"average": "micro"},
	"ndcg":                   {"group": "g"},
	"c_index":                {"event": "x1"},
	"mask_iou":               {"pixels": 30.0},
	"wrmsse":                 {"levels": []string{"g"}, "history": []string{"x0", "x1"}, "weight": "x1"},
	"crps":                   {"value": "x1"},
	"log_mae":                {"group": "g"},
	"haversine_quantiles":    {"group": "g"},
	"bias_auc":               {"identities": []string{"x0", "x1"}},
	"laplace_log_likelihood": {"confidence": "x1", "group": "g", "last": 2.0},
	"weighted_log_loss":      {"levels": []string{"a", "b"}, "heavy": "a", "weight": 7.0},
	"dice":                   {"pixels": 30.0},
	"mask_precision":         {"pixels": 30.0},
	"mask_fbeta":             {"height": "x0", "width": "x1"},
	"dice_hausdorff":         {"height": "x0", "width": "x1"},
	"coco_ap":                {"class": "x0"},
	"wspl":                   {"quantile": "x0", "history": []string{"x0", "x1"}},
	"oks":                    {"area": "x0"},
}

// No metric panics or changes its input, whatever the columns hold.
func TestMetricsSurviveAnything(t *testing.T) {
	for _, m := range All().List() {
		t.Run(m.Name, func(t *testing.T) {
			scorer, err := All().Build(m.Name, someArgs[m.Name])
			if err != nil {
				t.Fatalf("%v: give it a value in someArgs", err)
			}
			rng := rand.New(rand.NewPCG(3, 4))
			for range 300 {
				in := anyInput(t, rng)
				before := fmt.Sprint(cellsOf(in.Truth), cellsOf(in.Prediction))
				got, err := scorer.Score(in)
				var bad *Unscorable
				if err != nil && errors.As(err, &bad) && bad.Error() == "" {
					t.Error("an empty reason")
				}
				again, errAgain := scorer.Score(in)
				if got != again && !(math.IsNaN(got.Value) && math.IsNaN(again.Value)) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
					t.Errorf("got %v, %v, then %v, %v", got, err, again, errAgain)
				}
				if after := fmt.Sprint(cellsOf(in.Truth), cellsOf(in.Prediction)); after != before {
					t.Fatalf("the input was changed:\n%s\n%s", before, after)
				}
			}
		})
	}
}

func cellsOf(t *table.Table) [][]string {
	var out [][]string
	for _, c := range t.Columns() {
		out = append(out, append([]string(nil), c.Texts()...))
	}
	return out
}

func anyInput(t *testing.T, rng *rand.Rand) Input {
	rows := rng.IntN(7)
	predRows := rows
	if rng.IntN(8) == 0 {
		predRows = rng.IntN(7)
	}
	names := []string{"id", "g", "x0", "x1", "x_min", "y_min", "x_max", "y_max"}
	in := Input{Truth: anyTable(t, rng, names, rows), Prediction: anyTable(t, rng, names, predRows), ID: "id", Targets: []string{"x0"}}
	if rng.IntN(3) == 0 {
		in.Targets = []string{"x0", "x1"}
	}
	if rng.IntN(10) == 0 {
		in.Targets = []string{"absent"}
	}
	in.TruthNames = in.Targets
	return in
}

func anyTable(t *testing.T, rng *rand.Rand, names []string, rows int) *table.Table {
	var columns []*table.Column
	for _, name := range names {
		kind := rng.IntN(6)
		values := make([]table.Value, rows)
		for i := range values {
			values[i] = anyValue(rng, kind)
		}
		columns = append(columns, table.FromValues(name, values))
	}
	tab, err := table.New(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func anyValue(rng *rand.Rand, kind int) table.Value {
	texts := []string{"", " ", "1 2", "1 2 1", "5 9 20 1", "a 1 2 3 4", "a 0.5 1 2 3 4", "1 1 1 1 1 1 1 0 car", "-1", "x_a", "s_1_b", "1:2", "YES", "nan", "99999999999999999999 1", "[{}]", "\xff"}
	switch kind {
	case 0:
		return table.IntValue([]int64{0, 1, 1, 2, 5, -3, math.MaxInt64}[rng.IntN(7)])
	case 1:
		return table.FloatValue([]float64{0, 1, 0.5, -0.5, 1e300, math.Inf(1), math.NaN(), 5e-324, 70}[rng.IntN(9)])
	case 2:
		return table.BoolValue(rng.IntN(2) == 0)
	case 3, 4:
		return table.TextValue(texts[rng.IntN(len(texts))])
	}
	return anyValue(rng, rng.IntN(5))
}
