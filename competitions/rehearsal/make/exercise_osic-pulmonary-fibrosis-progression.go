package main

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sliceOsic draws a slice of a chest with two lungs, as a DICOM file: the lungs are as
// dense as the given share.
func sliceOsic(s *set, patient string, number int, density float64) []byte {
	const width, height = 18, 12
	pixels := make([]uint16, width*height)
	lung := uint16(max(0, s.normal(150+500*density, 25)))
	for i := range pixels {
		x, y := float64(i%width), float64(i/width)
		switch {
		case math.Hypot(x-5, y-5.5) < 3, math.Hypot(x-12, y-5.5) < 3:
			pixels[i] = lung
		case math.Hypot((x-8.5)/1.5, y-5.5) < 6:
			pixels[i] = 1060
		}
	}
	return dicom{
		class: "1.2.840.10008.5.1.4.1.1.2", instance: "2.25." + itoa(s.IntN(1_000_000_000)), modality: "CT",
		width: width, height: height, pixels: pixels,
		about: []element{{0x10, 0x20, "LO", patient}, {0x18, 0x15, "CS", "Chest"}, {0x20, 0x13, "IS", itoa(number)}},
	}.file()
}

// visitsOsic draws a patient's scan and visits.
func visitsOsic(s *set, folder, patient string) (rows [][]string) {
	sex, age, density := s.weighted(79, 21), math.Round(s.normal(67, 7)), s.Float64()
	expected := []float64{3900, 2750}[sex] - 12*(age-67)
	fvc := expected * s.between(0.5, 1)
	about := []string{itoa(int(age)), []string{"Male", "Female"}[sex], []string{"Ex-smoker", "Never smoked", "Currently smokes"}[s.weighted(67, 28, 5)]}
	for n := range 1 + s.IntN(3) {
		s.file(folder+patient+"/"+itoa(n+1)+".dcm", sliceOsic(s, patient, n+1, density))
	}
	week, loss := s.IntN(35)-4, 2+10*density
	for n := range 6 + s.weighted(1, 1, 2, 10, 1) {
		v := math.Round(fvc + s.normal(0, 45))
		percent := strconv.FormatFloat(v/expected*100, 'g', -1, 64)
		rows = append(rows, append([]string{patient, itoa(week), ftoa(v, 0), percent}, about...))
		step := []int{2, 2, 2, 6, 12, 12, 13, 12, 12}[min(n, 8)] + s.IntN(2)
		week, fvc = week+step, fvc-loss*float64(step)
	}
	return rows
}

// drawOsic draws the visits of patients and scans of their lungs: the lung capacity
// falls faster when the lungs are denser.
func drawOsic(s *set) {
	header := []string{"Patient", "Weeks", "FVC", "Percent", "Age", "Sex", "SmokingStatus"}
	numbers := s.Perm(430)[:76]
	slices.Sort(numbers)
	var train, test, sample [][]string
	for i, n := range numbers {
		patient := fmt.Sprintf("ID%05d637202%012d", n, s.Int64N(400_000_000_000))
		if i%25 == 1 {
			visits := visitsOsic(s, "test/", patient)
			test = append(test, visits[0])
			for week := range 4 {
				sample = append(sample, []string{patient + "_" + itoa(week-2), "2000", "100"})
			}
			continue
		}
		visits := visitsOsic(s, "train/", patient)
		if i == 4 {
			visits[2][1] = visits[1][1] // two visits in one week
		}
		train = append(train, visits...)
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header, test)
	s.csv("sample_submission.csv", []string{"Patient_Week", "FVC", "Confidence"}, sample)
}

// learnOsic is a ridge regression of the change since the first visit.
func learnOsic(l *lesson) {
	scans := map[string]float64{}
	density := func(folder, patient string) float64 {
		if v, ok := scans[patient]; ok {
			return v
		}
		names, err := fs.Glob(l.public, folder+patient+"/*.dcm")
		must(err)
		var lung []float64
		for _, name := range names {
			d := readDICOM(l.file(name))
			lung = append(lung, float64(d.pixels[5*d.width+5])/1000)
		}
		scans[patient] = mean(lung)
		return scans[patient]
	}
	features := func(folder string, first *rows, i int, week float64) []float64 {
		weeks := (week - first.number(i, "Weeks")) / 10
		return []float64{weeks, weeks * density(folder, first.get(i, "Patient")), weeks * first.number(i, "Percent") / 100}
	}
	train, start := l.rows("train.csv"), map[string]int{}
	for i := range train.len() {
		patient := train.get(i, "Patient")
		if k, ok := start[patient]; !ok || train.number(i, "Weeks") < train.number(k, "Weeks") {
			start[patient] = i
		}
	}
	var x [][]float64
	var y []float64
	for i := range train.len() {
		if k := start[train.get(i, "Patient")]; k != i {
			x = append(x, features("train/", train, k, train.number(i, "Weeks")))
			y = append(y, train.number(i, "FVC")-train.number(k, "FVC"))
		}
	}
	model, squares := fitLinear(x, y), []float64{}
	for i := range x {
		d := y[i] - model.predict(x[i])
		squares = append(squares, d*d)
	}
	confidence := ftoa(math.Sqrt(mean(squares)), 1)
	test, row := l.rows("test.csv"), map[string]int{}
	for i := range test.len() {
		row[test.get(i, "Patient")] = i
	}
	l.submitLike("sample_submission.csv", []string{"FVC", "Confidence"}, func(r *rows, i int) []string {
		patient, week, _ := strings.Cut(r.get(i, "Patient_Week"), "_")
		at, err := strconv.ParseFloat(week, 64)
		must(err)
		k := row[patient]
		return []string{ftoa(test.number(k, "FVC")+model.predict(features("test/", test, k, at)), 1), confidence}
	})
}
