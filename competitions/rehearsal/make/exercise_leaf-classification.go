package main

import (
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions/shipped"
)

// speciesLeaf returns the species, in the order that the competition's definition lists them.
func speciesLeaf() []string {
	data, err := fs.ReadFile(shipped.FS, "leaf-classification/classes.txt")
	must(err)
	return strings.Fields(string(data))
}

// drawLeaf draws two leaves of each of 99 species. All features depend on the species;
// margins and textures are multiples of 1/512 and 1/1024, and the image is a disk.
func drawLeaf(s *set) {
	species := speciesLeaf()
	header := []string{"id", "species"}
	for _, kind := range []string{"margin", "shape", "texture"} {
		for i := range 64 {
			header = append(header, kind+itoa(i+1))
		}
	}
	ids := s.Perm(1584)
	images, train, test, sample := s.part(), [][]string{}, [][]string{}, [][]string{}
	image := func(id string, size float64) {
		images.file("images/"+id+".jpg", jpegOf(gray(16, 12, func(x, y int) float64 {
			return 255 * max(0, min(1, size-math.Hypot(float64(x)-7.5, float64(y)-5.5)))
		})))
	}
	for _, name := range species {
		typical, size := make([]float64, 192), s.between(2, 6)
		for i := range typical {
			typical[i] = float64(s.weighted(6, 4, 2, 1, 1))
			if i/64 == 1 {
				typical[i] = 3 + 5*math.Sin(float64(i)/20+size)
			}
		}
		for range 2 {
			id := itoa(1 + ids[len(train)+len(test)])
			row := []string{id, name}
			for i, v := range typical {
				steps := max(0, v+float64(s.weighted(8, 1, 1))*float64(1-2*s.IntN(2)))
				row = append(row, strconv.FormatFloat([]float64{1.0 / 512, 0.000125, 1.0 / 1024}[i/64]*math.Round(steps+float64(i/64%2)), 'g', 8, 64))
			}
			train = append(train, row)
			image(id, size)
		}
		if len(test) < 4 {
			row := slices.Clone(train[len(train)-1])
			row[0] = itoa(1 + ids[1500+len(test)])
			image(row[0], size)
			test = append(test, slices.Delete(row, 1, 2))
			even := []string{row[0]}
			for range species {
				even = append(even, "0.010101010101010102")
			}
			sample = append(sample, even)
		}
	}
	s.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
	inside := func(name string, header []string, rows [][]string) {
		p := s.part()
		p.csv(name, header, rows)
		s.zip(name+".zip", p)
	}
	inside("train.csv", header, train)
	inside("test.csv", append([]string{"id"}, header[2:]...), test)
	inside("sample_submission.csv", append([]string{"id"}, species...), sample)
	s.zip("images.zip", images)
}

// learnLeaf classifies by the features.
func learnLeaf(l *lesson) {
	features := func(r *rows, i int) (x []float64) {
		for _, kind := range []string{"margin", "shape", "texture"} {
			for k := range 64 {
				x = append(x, r.number(i, kind+itoa(k+1)))
			}
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model := train.classifier("species", features)
	columns := l.rows("sample_submission.csv").header[1:]
	l.submitLike("sample_submission.csv", columns, func(_ *rows, i int) []string {
		return evenLeaf(model, features(test, i), columns)
	})
}

// evenLeaf returns the probabilities of the given classes. They sum to 1; a class that was
// not seen has a small one.
func evenLeaf(model *centroids, x []float64, classes []string) []string {
	p, sum := make([]float64, len(classes)), 0.0
	for k, class := range classes {
		p[k] = max(1e-3, model.probability(x, class))
		sum += p[k]
	}
	cells := make([]string, len(classes))
	for k := range p {
		cells[k] = strconv.FormatFloat(p[k]/sum, 'g', -1, 64)
	}
	return cells
}
