package main

import (
	"image/color"
)

// drawInvasive draws photographs: those with the invasive plant are bluer.
func drawInvasive(s *set) {
	header := []string{"name", "invasive"}
	photos, tests, labels, table := s.part(), s.part(), s.part(), [][]string{}
	photo := func(label int) []byte {
		c := color.RGBA{90, 110, uint8(80 + 15*label + s.IntN(20)), 255} //nolint:gosec // below 256
		return jpegOf(s.picture(32, 24, c, 6))
	}
	for i := range 120 {
		label := s.weighted(37, 63)
		photos.file("train/"+itoa(i+1)+".jpg", photo(label))
		table = append(table, []string{itoa(i + 1), itoa(label)})
	}
	sample := [][]string{}
	for i := range 8 {
		tests.file("test/"+itoa(i+1)+".jpg", photo(s.IntN(2)))
		sample = append(sample, []string{itoa(i + 1), "0.5"})
	}
	labels.csv("train_labels.csv", header, table)
	s.sevenZip("train.7z", photos)
	s.sevenZip("test.7z", tests)
	s.zip("train_labels.csv.zip", labels)
	samples := s.part()
	samples.csv("sample_submission.csv", header, sample)
	s.zip("sample_submission.csv.zip", samples)
}

// learnInvasive classifies by mean color.
func learnInvasive(l *lesson) {
	train := readRows(l.member("train_labels.csv.zip", "train_labels.csv"))
	model := train.classifier("invasive", func(r *rows, i int) []float64 {
		return colors(l.member("train.7z", "train/"+r.get(i, "name")+".jpg"))
	})
	out := readRows(l.member("sample_submission.csv.zip", "sample_submission.csv"))
	for i := range out.len() {
		out.cells[i][out.at("invasive")] = ftoa(model.probability(colors(l.member("test.7z", "test/"+out.get(i, "name")+".jpg")), "1"), 6)
	}
	l.submit(out.header, out.cells)
}
