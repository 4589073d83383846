package metric

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// BenchmarkMasks is the Dice coefficient of pictures of 256 x 256 pixels with
// thirty runs each.
func BenchmarkMasks(b *testing.B) {
	for _, rows := range []int{1_000, 50_000} {
		masks := [2][]string{}
		for side := range masks {
			rng := rand.New(rand.NewPCG(1, uint64(side)))
			for range rows {
				var text strings.Builder
				for start := 1 + rng.IntN(2000); start < 65_000; start += 1000 + rng.IntN(2200) {
					fmt.Fprintf(&text, " %d %d", start, 1+rng.IntN(900))
				}
				masks[side] = append(masks[side], text.String()[1:])
			}
		}
		benchTexts(b, "dice", Args{"pixels": 65536.0, "over": "all"}, masks)
	}
}

// BenchmarkCuboids is the mean average precision of twenty boxes a picture.
func BenchmarkCuboids(b *testing.B) {
	for _, rows := range []int{100, 5_000} {
		lists := [2][]string{}
		for side := range lists {
			for i := range rows {
				rng, noise := rand.New(rand.NewPCG(1, uint64(i))), rand.New(rand.NewPCG(2, uint64(i)))
				var text strings.Builder
				for range 20 {
					v := []float64{noise.Float64(), 100 * rng.Float64(), 100 * rng.Float64(), rng.Float64(), 1 + rng.Float64(), 3 + rng.Float64(), 1 + rng.Float64(), 6 * rng.Float64()}
					for _, x := range v {
						fmt.Fprint(&text, x+float64(side)*noise.Float64()/20, " ")
					}
					fmt.Fprint(&text, []string{"car", "car", "bus", "truck"}[rng.IntN(4)], " ")
				}
				lists[side] = append(lists[side], strings.TrimSpace(text.String()))
			}
		}
		benchTexts(b, "cuboid_ap", nil, lists)
	}
}

// BenchmarkBoxes is COCO's average precision of eight boxes a picture.
func BenchmarkBoxes(b *testing.B) {
	for _, rows := range []int{100, 12_500} {
		scorer, err := All().Build("coco_ap", nil)
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		var owners, ids, lists []string
		var class []int64
		corners := [4][]float64{}
		for i := range rows {
			ids = append(ids, fmt.Sprint("picture ", i))
			var text strings.Builder
			for range 8 {
				owners, class = append(owners, ids[i]), append(class, rng.Int64N(14))
				fmt.Fprintf(&text, " %d %f", class[len(class)-1], rng.Float64())
				for k := range corners {
					corners[k] = append(corners[k], float64(rng.IntN(1000)+k/2*1000))
					fmt.Fprintf(&text, " %.1f", corners[k][len(corners[k])-1]+rng.Float64()*50)
				}
			}
			lists = append(lists, text.String()[1:])
		}
		columns := []*table.Column{table.FromTexts("id", owners, nil), table.FromInts("class_id", class)}
		for k, name := range []string{"x_min", "y_min", "x_max", "y_max"} {
			columns = append(columns, table.FromFloats(name, corners[k]))
		}
		in := Input{ID: "id", Targets: []string{"boxes"}, Truth: benchTable(b, columns...),
			Prediction: benchTable(b, table.FromTexts("id", ids, nil), table.FromTexts("boxes", lists, nil))}
		b.Run(fmt.Sprintf("coco_ap/%d", 8*rows), func(b *testing.B) { benchScorer(b, scorer, in) })
	}
}

func benchTexts(b *testing.B, name string, args Args, sides [2][]string) {
	scorer, err := All().Build(name, args)
	if err != nil {
		b.Fatal(err)
	}
	in := Input{Targets: []string{"x"}, Truth: benchTable(b, table.FromTexts("x", sides[0], nil)), Prediction: benchTable(b, table.FromTexts("x", sides[1], nil))}
	b.Run(fmt.Sprintf("%s/%d", name, len(sides[0])), func(b *testing.B) { benchScorer(b, scorer, in) })
}

func benchTable(b *testing.B, columns ...*table.Column) *table.Table {
	t, err := table.New(columns...)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func benchScorer(b *testing.B, scorer Scorer, in Input) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scorer.Score(in); err != nil {
			b.Fatal(err)
		}
	}
}
