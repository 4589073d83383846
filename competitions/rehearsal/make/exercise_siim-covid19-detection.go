package main

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
)

const sideSiim = 28

// boxSiim is a bright rectangle: left, top, right, bottom.
type boxSiim [4]float64

// xraySiim draws an X-ray with opacities of a level, as a DICOM file.
func xraySiim(s *set, study, series, image string, boxes []boxSiim, level float64) []byte {
	pixels := make([]uint16, sideSiim*sideSiim)
	for i := range pixels {
		x, y := float64(i%sideSiim)+0.5, float64(i/sideSiim)+0.5
		v := 300 + 10*float64(i/sideSiim) + 20*float64(s.IntN(14)/13)
		for _, b := range boxes {
			if x > b[0] && x < b[2] && y > b[1] && y < b[3] {
				v = level
			}
		}
		pixels[i] = uint16(v)
	}
	return dicom{
		class: "1.2.840.10008.5.1.4.1.1.1.1", instance: image, modality: s.one("CR", "DX"), width: sideSiim, height: sideSiim, pixels: pixels,
		about: []element{{0x10, 0x20, "LO", study}, {0x10, 0x40, "CS", s.one("F", "M")}, {0x20, 0xd, "UI", study}, {0x20, 0xe, "UI", series}, {0x20, 0x10, "SH", study}},
	}.file()
}

// drawSiim draws studies of an X-ray or two: typical ones have two opacities, the level
// tells the others apart. A second X-ray has no boxes though it shows the same.
func drawSiim(s *set) {
	var studies, images [][]string
	for range 130 {
		study, kind := s.hex(12), s.weighted(28, 44, 18, 10)
		level := []float64{0, 1600, 1200, 2200}[kind] + 20*math.Round(s.normal(0, 14))
		row := []string{study + "_study", "0", "0", "0", "0"}
		row[1+kind] = "1"
		studies = append(studies, row)
		side, boxes := s.IntN(2), []boxSiim(nil)
		for half := range 2 {
			if kind == 1 || kind > 1 && half == side {
				x, y := float64(14*half)+s.between(1, 4), s.between(2, 9)
				boxes = append(boxes, boxSiim{x, y, x + s.between(6, 9), y + s.between(8, 16)})
			}
		}
		var list, label []string
		for _, b := range boxes {
			list = append(list, fmt.Sprintf("{'x': %.5f, 'y': %.5f, 'width': %.5f, 'height': %.5f}", b[0], b[1], b[2]-b[0], b[3]-b[1]))
			label = append(label, fmt.Sprintf("opacity 1 %.5f %.5f %.5f %.5f", b[0], b[1], b[2], b[3]))
		}
		for k := range 1 + s.IntN(12)/11 {
			series, image := s.hex(12), s.hex(12)
			s.file("train/"+study+"/"+series+"/"+image+".dcm", xraySiim(s, study, series, image, boxes, level))
			cells := []string{image + "_image", "", "none 1 0 0 1 1", study}
			if len(boxes) > 0 && k == 0 {
				cells[1], cells[2] = "["+strings.Join(list, ", ")+"]", strings.Join(label, " ")
			}
			images = append(images, cells)
		}
	}
	byID := func(a, b []string) int { return strings.Compare(a[0], b[0]) }
	slices.SortFunc(studies, byID)
	slices.SortFunc(images, byID)
	s.csv("train_study_level.csv", []string{"id", "Negative for Pneumonia", "Typical Appearance", "Indeterminate Appearance", "Atypical Appearance"}, studies)
	s.csv("train_image_level.csv", []string{"id", "boxes", "label", "StudyInstanceUID"}, images)
	study, series, image := s.hex(12), s.hex(12), s.hex(12)
	s.file("test/"+study+"/"+series+"/"+image+".dcm", xraySiim(s, study, series, image, nil, 0))
	s.csv("sample_submission.csv", []string{"id", "PredictionString"}, [][]string{{study + "_study", "negative 1 0 0 1 1"}, {image + "_image", "none 1 0 0 1 1"}})
}

// opacitiesSiim returns the box of the bright pixels of each half that has some, and the
// number of boxes and the mean level as features.
func opacitiesSiim(data []byte) (boxes []boxSiim, features []float64) {
	xray := readDICOM(data)
	var levels []float64
	for half := range 2 {
		box := boxSiim{sideSiim, sideSiim, 0, 0}
		for i, p := range xray.pixels {
			x, y := float64(i%xray.width), float64(i/xray.width)
			if p > 800 && i%xray.width*2/xray.width == half {
				levels = append(levels, float64(p))
				box = boxSiim{min(box[0], x), min(box[1], y), max(box[2], x+1), max(box[3], y+1)}
			}
		}
		if box[2] > 0 {
			boxes = append(boxes, box)
		}
	}
	return boxes, []float64{float64(len(boxes)), mean(levels)}
}

// learnSiim classifies studies by the opacities of their X-rays, and frames these.
func learnSiim(l *lesson) {
	xray := func(pattern string) ([]boxSiim, []float64) {
		names, err := fs.Glob(l.public, pattern)
		must(err)
		return opacitiesSiim(l.file(names[0]))
	}
	train := l.rows("train_study_level.csv")
	var x [][]float64
	var y []string
	for i := range train.len() {
		_, features := xray("train/" + strings.TrimSuffix(train.get(i, "id"), "_study") + "/*/*.dcm")
		for j, word := range []string{"negative", "typical", "indeterminate", "atypical"} {
			if train.cells[i][1+j] == "1" {
				x, y = append(x, features), append(y, word)
			}
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"PredictionString"}, func(r *rows, i int) []string {
		id, kind, _ := strings.Cut(r.get(i, "id"), "_")
		var words []string
		if kind == "study" {
			_, features := xray("test/" + id + "/*/*.dcm")
			for _, class := range model.classes {
				words = append(words, fmt.Sprintf("%s %.4f 0 0 1 1", class, model.probability(features, class)))
			}
			return []string{strings.Join(words, " ")}
		}
		boxes, _ := xray("test/*/*/" + id + ".dcm")
		for _, b := range boxes {
			words = append(words, fmt.Sprintf("opacity 0.9 %g %g %g %g", b[0], b[1], b[2], b[3]))
		}
		if len(words) == 0 {
			words = []string{"none 1 0 0 1 1"}
		}
		return []string{strings.Join(words, " ")}
	})
}
