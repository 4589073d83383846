package main

import (
	"bytes"
	"image/color"
	"image/jpeg"
	"slices"
	"strings"
)

var findingsRanzcr = []string{
	"ETT - Abnormal", "ETT - Borderline", "ETT - Normal", "NGT - Abnormal", "NGT - Borderline",
	"NGT - Incompletely Imaged", "NGT - Normal", "CVC - Abnormal", "CVC - Borderline", "CVC - Normal",
	"Swan Ganz Catheter Present",
}

// drawRanzcr draws X-rays: each finding brightens a band of rows.
func drawRanzcr(s *set) {
	draw := func(folder string) (string, []int) {
		id := "1.2.826.0.1.3680043.8.498."
		for range 38 {
			id += itoa(1 + s.IntN(9))
		}
		found := make([]int, len(findingsRanzcr))
		for k := range found {
			found[k] = s.weighted(4, 1)
		}
		found[9] = s.weighted(1, 2) // most have a normal one
		shade := s.between(60, 90)
		s.file(folder+id+".jpg", jpegOf(gray(16, 8*len(found), func(x, y int) float64 {
			return shade + float64(30*found[y/8]) + float64(x) + s.normal(0, 3)
		})))
		return id, found
	}
	var train, annotations, sample [][]string
	for n := range 220 {
		id, found := draw("train/")
		row := []string{id}
		for k, v := range found {
			row = append(row, itoa(v))
			if v == 1 && n%3 == 0 {
				annotations = append(annotations, []string{id, findingsRanzcr[k], "[[" + itoa(s.IntN(16)) + ", " + itoa(8*k) + "], [" + itoa(s.IntN(16)) + ", " + itoa(8*k+7) + "]]"})
			}
		}
		train = append(train, append(row, "b"+s.hex(8)))
	}
	for range 6 {
		id, _ := draw("test/")
		sample = append(sample, append([]string{id}, strings.Split(strings.Repeat("0", len(findingsRanzcr)), "")...))
	}
	header := append([]string{"StudyInstanceUID"}, findingsRanzcr...)
	s.csv("train.csv", append(slices.Clone(header), "PatientID"), train)
	s.csv("train_annotations.csv", []string{"StudyInstanceUID", "label", "data"}, annotations)
	s.csv("sample_submission.csv", header, sample)
}

// learnRanzcr regresses each finding on the brightness of bands of rows.
func learnRanzcr(l *lesson) {
	features := func(folder, id string) []float64 {
		img, err := jpeg.Decode(bytes.NewReader(l.file(folder + "/" + id + ".jpg")))
		must(err)
		bands := make([]float64, img.Bounds().Dy()/8)
		for y := range 8 * len(bands) {
			for x := range img.Bounds().Dx() {
				bands[y/8] += float64(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y) / 128
			}
		}
		return bands
	}
	train := l.rows("train.csv")
	var x [][]float64
	for i := range train.len() {
		x = append(x, features("train", train.get(i, "StudyInstanceUID")))
	}
	graded := l.rows("sample_submission.csv").header[1:]
	models := make([]linear, len(graded))
	for k, name := range graded {
		var y []float64
		for i := range train.len() {
			y = append(y, train.number(i, name))
		}
		models[k] = fitLinear(x, y)
	}
	l.submitLike("sample_submission.csv", graded, func(r *rows, i int) []string {
		row, out := features("test", r.get(i, "StudyInstanceUID")), []string{}
		for _, model := range models {
			out = append(out, ftoa(min(1, max(0, model.predict(row))), 5))
		}
		return out
	})
}
