package metric

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// oracleFile is testdata/oracle*.json, written by the script of that name,
// which states the versions of the libraries.
type oracleFile struct {
	MadeWith string `json:"made_with"`
	Cases    []oracleCase
}

type oracleCase struct {
	Metric  string
	Args    map[string]any
	Truth   []oracleColumn
	Pred    []oracleColumn
	Targets []string
	// ID and Names, the columns of both tables, are given where there are
	// other columns than the targets.
	ID    string
	Names struct{ Truth, Pred []string }
	Score string
}

type oracleColumn struct {
	Kind string
	V    []any
}

// closeEnough names the metrics whose last digits may differ, and how many
// units in the last place of numbers around 1: numpy's vector code of log1p is
// not correctly rounded, ours is, and the differences of logarithms magnify
// it; scipy's correlations are sums of a BLAS, whose order depends on the
// processor.
// The metrics of oracle_shapes.py are put together of libraries' parts, which
// add up in other orders; an angle is the worse conditioned the smaller it is.
var closeEnough = map[string]float64{
	"rmsle": 64, "pearson": 16, "spearman": 16,
	"angular_error": 1 << 12, "haversine_quantiles": 1 << 16, "cuboid_ap": 16, "weighted_auc": 16, "dice_hausdorff": 8, "dice": 8, "detection_ap": 8,
	"mask_fbeta": 8, "mask_precision": 8, "point_in_box_f1": 8, "kendall_tau": 8, "map_at_k": 8, "lwlrap": 8, "bias_auc": 16, "coco_ap": 8,
	"ndcg": 8, "ndcg_at_k": 8, "probabilistic_f1": 8, "kl_divergence": 16, "laplace_log_likelihood": 8, "log_mae": 8, "weighted_log_loss": 16, "error_rate": 1, "oks": 8,
}

// golden names the metrics whose oracle is the reference's grader alone, in
// the golden submissions: no library has a part of them.
var golden = []string{"answer_spans"}

func TestOracle(t *testing.T) {
	missing := map[string]bool{}
	for _, name := range All().Names() {
		missing[name] = !slices.Contains(golden, name)
	}
	defer func() {
		for _, name := range slices.Sorted(maps.Keys(missing)) {
			if missing[name] {
				t.Errorf("no oracle has the metric %s", name)
			}
		}
	}()
	files, err := filepath.Glob("testdata/oracle*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no oracle files: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file oracleFile
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for i, c := range file.Cases {
			missing[c.Metric] = false
			t.Run(fmt.Sprintf("%s/%d", c.Metric, i), func(t *testing.T) { checkOracle(t, c) })
		}
	}
}

func checkOracle(t *testing.T, c oracleCase) {
	scorer, err := All().Build(c.Metric, args(c.Args))
	if err != nil {
		t.Fatal(err)
	}
	truth, pred := c.Targets, c.Targets
	if c.Names.Truth != nil {
		truth, pred = c.Names.Truth, c.Names.Pred
	}
	got, err := scorer.Score(Input{Truth: oracleTable(t, truth, c.Truth), Prediction: oracleTable(t, pred, c.Pred), ID: c.ID, Targets: c.Targets, TruthNames: c.Targets})
	if c.Score == "error" {
		var bad *Unscorable
		if !errors.As(err, &bad) {
			t.Fatalf("got %v, %v, want an Unscorable", got, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := hexFloat(t, c.Score)
	slack := closeEnough[c.Metric] * 0x1p-52 * max(1, math.Abs(want))
	if got.Value != want && !(math.IsNaN(want) && math.IsNaN(got.Value)) && !(math.Abs(got.Value-want) <= slack) {
		t.Errorf("got %v, want %v", got.Value, want)
	}
}

func args(in map[string]any) Args {
	out := Args{}
	for name, v := range in {
		if list, ok := v.([]any); ok {
			texts := make([]string, len(list))
			for i, x := range list {
				texts[i] = x.(string)
			}
			v = texts
		}
		out[name] = v
	}
	return out
}

func hexFloat(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func oracleTable(t *testing.T, names []string, columns []oracleColumn) *table.Table {
	t.Helper()
	var out []*table.Column
	for i, c := range columns {
		out = append(out, c.column(t, names[i]))
	}
	tab, err := table.New(out...)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func (c oracleColumn) column(t *testing.T, name string) *table.Column {
	t.Helper()
	ints, uints, floats := make([]int64, len(c.V)), make([]uint64, len(c.V)), make([]float64, len(c.V))
	texts, bools, valid := make([]string, len(c.V)), make([]bool, len(c.V)), make([]bool, len(c.V))
	for i, v := range c.V {
		valid[i] = v != nil
		switch c.Kind {
		case "int":
			if text, ok := v.(string); ok {
				ints[i], _ = strconv.ParseInt(text, 10, 64)
			} else {
				ints[i] = int64(v.(float64))
			}
		case "uint":
			uints[i], _ = strconv.ParseUint(v.(string), 10, 64)
		case "float":
			floats[i] = hexFloat(t, v.(string))
		case "text":
			texts[i], _ = v.(string)
		case "bool":
			bools[i], _ = v.(bool)
		}
	}
	switch c.Kind {
	case "int":
		return table.FromInts(name, ints)
	case "uint":
		return table.FromUints(name, uints)
	case "float":
		return table.FromFloats(name, floats)
	case "bool":
		return table.FromBools(name, bools, valid)
	}
	return table.FromTexts(name, texts, valid)
}
