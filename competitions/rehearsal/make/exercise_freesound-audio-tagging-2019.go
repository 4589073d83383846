package main

import (
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions/shipped"
)

// classesFreesound returns the definition's kinds of sound.
func classesFreesound() []string {
	data, err := fs.ReadFile(shipped.FS, "freesound-audio-tagging-2019/classes.txt")
	must(err)
	return strings.Fields(string(data))
}

// clipFreesound draws a clip of two halves: period and loudness of a half depend on the
// kind of sound.
func clipFreesound(s *set, kinds [2]int) []byte {
	var samples []int16
	for _, kind := range kinds {
		period := []int{4, 5, 6, 8, 10, 13, 17, 22, 29, 40}[kind%10]
		loud, phase := 400*math.Pow(1.7, float64(kind/10))*s.between(0.94, 1.06), s.IntN(period)
		for i := range 160 {
			samples = append(samples, int16(loud*math.Sin(2*math.Pi*(float64((i+phase)%period)+0.5)/float64(period))))
		}
	}
	return wavOf(44100, samples)
}

// drawFreesound draws clips: each kind of sound has a pitch and a loudness, and a clip
// has one or two kinds. About one in five of the unchecked labels is wrong.
func drawFreesound(s *set) {
	classes := classesFreesound()
	clips := func(folder string, n, wrong int) (rows [][]string) {
		order := s.Perm(len(classes))
		for i := range n {
			kind := order[i%len(order)]
			kinds, named := [2]int{kind, kind}, classes[kind]
			switch {
			case s.IntN(7) == 0:
				kinds[1] = (kind + 1 + s.IntN(len(classes)-1)) % len(classes)
				named += "," + classes[kinds[1]]
			case s.IntN(100) < wrong:
				named = s.one(classes...)
			}
			name := s.hex(8) + ".wav"
			if folder != "" {
				s.file(folder+"/"+name, clipFreesound(s, kinds))
			}
			rows = append(rows, []string{name, named})
		}
		return rows
	}
	s.csv("train_curated.csv", []string{"fname", "labels"}, clips("train_curated", 160, 0))
	s.csv("train_noisy.csv", []string{"fname", "labels"}, clips("train_noisy", 100, 25))
	var sample, published [][]string
	for _, row := range clips("test", 80, 0) {
		published = append(published, append(row, "Private"))
		cells := []string{row[0]}
		for range classes {
			cells = append(cells, "0")
		}
		sample = append(sample, cells)
	}
	for _, row := range clips("", 20, 0) {
		published = append(published, append(row, "Public"))
	}
	s.Shuffle(len(published), func(i, j int) { published[i], published[j] = published[j], published[i] })
	for i := range published {
		published[i] = append(published[i], itoa(1000+s.IntN(470000)), "http://creativecommons.org/licenses/by/3.0/")
	}
	s.csv("sample_submission.csv", append([]string{"fname"}, classes...), sample)
	meta := s.part()
	meta.csv("FSDKaggle2019.meta/test_post_competition.csv", []string{"fname", "labels", "usage", "freesound_id", "license"}, published)
	var vocabulary strings.Builder
	for i, class := range classes {
		fmt.Fprintf(&vocabulary, "%d,%s,/m/0%s\n", i, class, strconv.FormatInt(s.Int64N(1<<24), 36))
	}
	meta.file("FSDKaggle2019.meta/vocabulary.csv", []byte(vocabulary.String()))
	s.zip("FSDKaggle2019.meta.zip", meta)
}

// halvesFreesound returns for each half of a clip the logarithms of its number of
// changes of the sign and of its mean loudness.
func halvesFreesound(data []byte) (x [2][]float64) {
	samples := wavSamples(data)
	n := len(samples) / 2
	for half := range x {
		changes, loud := 1.0, 1.0
		for i := half*n + 1; i < (half+1)*n; i++ {
			if (samples[i] < 0) != (samples[i-1] < 0) {
				changes++
			}
			loud += math.Abs(float64(samples[i])) / float64(n)
		}
		x[half] = []float64{math.Log(changes), math.Log(loud)}
	}
	return x
}

// learnFreesound classifies both halves of a clip, as learnt from the checked clips of one kind.
func learnFreesound(l *lesson) {
	var x [][]float64
	var y []string
	train := l.rows("train_curated.csv")
	for i := range train.len() {
		if labels := train.get(i, "labels"); !strings.Contains(labels, ",") {
			for _, half := range halvesFreesound(l.file("train_curated/" + train.get(i, "fname"))) {
				x, y = append(x, half), append(y, labels)
			}
		}
	}
	model, classes := fitCentroids(x, y), l.rows("sample_submission.csv").header[1:]
	l.submitLike("sample_submission.csv", classes, func(r *rows, i int) (cells []string) {
		halves := halvesFreesound(l.file("test/" + r.get(i, "fname")))
		for _, class := range classes {
			cells = append(cells, ftoa(max(model.probability(halves[0], class), model.probability(halves[1], class)), 6))
		}
		return cells
	})
}
