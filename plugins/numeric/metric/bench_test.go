package metric

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var benchRows = []int{1_000, 100_000, 1_000_000}

// BenchmarkMetrics scores tables in memory, as grading does after reading and
// pairing. testdata/bench.py times scikit-learn on the same shapes.
func BenchmarkMetrics(b *testing.B) {
	for _, rows := range benchRows {
		rng := rand.New(rand.NewPCG(1, 2))
		labels := func(k int) []int64 {
			out := make([]int64, rows)
			for i := range out {
				out[i] = rng.Int64N(int64(k))
			}
			return out
		}
		probs := make([]float64, rows)
		for i := range probs {
			probs[i] = rng.Float64()
		}
		bench(b, "roc_auc", rows, []*table.Column{table.FromInts("t", labels(2))}, []*table.Column{table.FromFloats("t", probs)})
		bench(b, "log_loss", rows, []*table.Column{table.FromInts("t", labels(2))}, []*table.Column{table.FromFloats("t", probs)})
		bench(b, "accuracy", rows, []*table.Column{table.FromInts("t", labels(100))}, []*table.Column{table.FromInts("t", labels(100))})
		bench(b, "kappa", rows, []*table.Column{table.FromInts("t", labels(6))}, []*table.Column{table.FromInts("t", labels(6))})
	}
}

// BenchmarkLogLoss120 is the log loss of 120 classes.
func BenchmarkLogLoss120(b *testing.B) {
	const classes = 120
	for _, rows := range benchRows {
		if testing.Short() && rows > 100_000 {
			continue
		}
		rng := rand.New(rand.NewPCG(1, 2))
		truth, probs := make([][]int64, classes), make([][]float64, classes)
		for k := range classes {
			truth[k], probs[k] = make([]int64, rows), make([]float64, rows)
		}
		for i := range rows {
			for k := range classes {
				probs[k][i] = rng.Float64() / classes
			}
			truth[rng.IntN(classes)][i] = 1
		}
		var t, p []*table.Column
		for k := range classes {
			t = append(t, table.FromInts(fmt.Sprint("c", k), truth[k]))
			p = append(p, table.FromFloats(fmt.Sprint("c", k), probs[k]))
		}
		bench(b, "log_loss", rows, t, p)
	}
}

func bench(b *testing.B, name string, rows int, truth, pred []*table.Column) {
	args := Args{}
	if name == "kappa" {
		args["weights"] = "quadratic"
	}
	scorer, err := All().Build(name, args)
	if err != nil {
		b.Fatal(err)
	}
	in := Input{}
	if in.Truth, err = table.New(truth...); err != nil {
		b.Fatal(err)
	}
	if in.Prediction, err = table.New(pred...); err != nil {
		b.Fatal(err)
	}
	in.Targets = in.Prediction.Names()
	b.Run(fmt.Sprintf("%s/%d", name, rows), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := scorer.Score(in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
