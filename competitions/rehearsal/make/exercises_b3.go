package main

import (
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
		return evenB(model, features(test, i), columns)
	})
}

// evenB returns the probabilities of the given classes. They sum to 1; a class that was
// not seen has a small one.
func evenB(model *centroids, x []float64, classes []string) []string {
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

// drawTaxi draws rides: the fare depends on the distance and on the hour.
func drawTaxi(s *set) {
	header := []string{"key", "fare_amount", "pickup_datetime", "pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude", "passenger_count"}
	var train, test, sample [][]string
	for i := range 510 {
		at := time.Date(2009+s.IntN(6), 1, 1, 0, 0, s.IntN(365*86400), 0, time.UTC)
		lon, lat := s.normal(-73.98, 0.02), s.normal(40.75, 0.02)
		east, north := s.normal(0, 0.02), s.normal(0, 0.02)
		fare := 3 + 210*math.Hypot(east*0.76, north) + s.normal(0, 0.8)
		if at.Hour() >= 20 {
			fare += 2
		}
		places := []string{ftoa(lon, 6), ftoa(lat, 6), ftoa(lon+east, 6), ftoa(lat+north, 6)}
		switch s.weighted(60, 1, 1) {
		case 1:
			places = []string{"0", "0", "0", "0"}
		case 2:
			if i < 500 {
				places[2], places[3] = "", ""
			}
		}
		row := append([]string{fmt.Sprintf("%s.000000%d", at.Format(time.DateTime), i%1000), strconv.FormatFloat(math.Round(max(2.5, fare)*2)/2, 'f', -1, 64), at.Format(time.DateTime) + " UTC"}, places...)
		row = append(row, itoa(1+s.weighted(70, 15, 4, 2, 7, 2)))
		if i < 500 {
			train = append(train, row)
			continue
		}
		sample = append(sample, []string{row[0], "11.35"})
		test = append(test, slices.Delete(row, 1, 2))
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", slices.Delete(slices.Clone(header), 1, 2), test)
	s.csv("sample_submission.csv", []string{"key", "fare_amount"}, sample)
	s.file("GCP-Coupons-Instructions.rtf", []byte(`{\rtf1\ansi\deff0 {\fonttbl {\f0 Helvetica;}} \f0\fs24 Coupons are not part of a rehearsal.\par}`+"\n"))
}

// learnTaxi fits a line to distance and hour.
func learnTaxi(l *lesson) {
	features := func(r *rows, i int) []float64 {
		x := []float64{0, 0, 0}
		if r.number(i, "dropoff_latitude") == 0 {
			x[2] = 1
		} else {
			x[0] = math.Hypot(0.76*(r.number(i, "dropoff_longitude")-r.number(i, "pickup_longitude")), r.number(i, "dropoff_latitude")-r.number(i, "pickup_latitude"))
		}
		if r.get(i, "pickup_datetime")[11:13] >= "20" {
			x[1] = 1
		}
		return x
	}
	train, test := l.rows("labels.csv"), l.rows("test.csv")
	model := train.regression("fare_amount", features)
	l.submitLike("sample_submission.csv", []string{"fare_amount"}, func(_ *rows, i int) []string {
		return []string{ftoa(model.predict(features(test, i)), 4)}
	})
}

// drawPlant21 draws leaves: each disease changes the color, and several change it
// together.
func drawPlant21(s *set) {
	labels := []string{"scab", "healthy", "frog_eye_leaf_spot", "rust", "complex", "powdery_mildew", "scab frog_eye_leaf_spot",
		"scab frog_eye_leaf_spot complex", "frog_eye_leaf_spot complex", "rust frog_eye_leaf_spot", "rust complex", "powdery_mildew complex"}
	shift := map[string][3]float64{"scab": {-50, -20, -40}, "frog_eye_leaf_spot": {0, -60, 0}, "rust": {70, 0, -40}, "complex": {-30, -40, 40}, "powdery_mildew": {50, 30, 90}}
	photo := func(kind string) []byte {
		c := [3]float64{110, 150, 90}
		for _, label := range strings.Fields(kind) {
			for i, v := range shift[label] {
				c[i] += v
			}
		}
		return jpegOf(s.picture(32, 21, s.nearB(color.RGBA{clip(c[0]), clip(c[1]), clip(c[2]), 255}), 5))
	}
	var train, sample [][]string
	for range 170 {
		kind, name := labels[s.weighted(48, 46, 32, 19, 16, 12, 7, 2, 2, 1, 1, 1)], s.hex(16)+".jpg"
		train = append(train, []string{name, kind})
		s.file("train_images/"+name, photo(kind))
	}
	slices.SortFunc(train, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	for range 3 {
		name := s.hex(16) + ".jpg"
		sample = append(sample, []string{name, "healthy"})
		s.file("test_images/"+name, photo("healthy"))
	}
	s.csv("train.csv", []string{"image", "labels"}, train)
	s.csv("sample_submission.csv", []string{"image", "labels"}, sample)
}

// learnPlant21 classifies by mean color.
func learnPlant21(l *lesson) {
	model := l.rows("train.csv").classifier("labels", func(r *rows, i int) []float64 {
		return colors(l.file("train_images/" + r.get(i, "image")))
	})
	l.submitLike("sample_submission.csv", []string{"labels"}, func(r *rows, i int) []string {
		return []string{model.class(colors(l.file("test_images/" + r.get(i, "image"))))}
	})
}
