package main

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
)

var seriesMiccai = []string{"FLAIR", "T1w", "T1wCE", "T2w"}

// sliceMiccai draws a slice of a head with a tumor in it, as a DICOM file.
func sliceMiccai(s *set, patient, series string, number int, tumor float64) []byte {
	const size = 14
	pixels := make([]uint16, size*size)
	x0, y0 := s.between(4, 10), s.between(4, 10)
	for i := range pixels {
		x, y := float64(i%size), float64(i/size)
		switch {
		case math.Hypot(x-x0, y-y0) < 2.5:
			pixels[i] = uint16(tumor)
		case math.Hypot(x-6.5, y-6.5) < 6:
			pixels[i] = 300
		}
	}
	return dicom{
		class: "1.2.840.10008.5.1.4.1.1.4", instance: "1.2.826.0.1.3680043.8.498." + itoa(s.IntN(1_000_000_000)), modality: "MR",
		width: size, height: size, pixels: pixels,
		about: []element{{8, 0x103e, "LO", series}, {0x10, 0x20, "LO", patient}, {0x20, 0x13, "IS", itoa(number)}},
	}.file()
}

// drawMiccai draws scans of brains: with methylation the tumor is brighter with contrast
// agent (T1wCE), and a little darker in FLAIR.
func drawMiccai(s *set) {
	header := []string{"BraTS21ID", "MGMT_value"}
	patient := func(folder, id string, label float64) {
		for _, series := range seriesMiccai {
			tumor := s.normal(700, 60)
			switch series {
			case "T1wCE":
				tumor += 160 * label
			case "FLAIR":
				tumor -= 60 * label
			}
			first := 1
			if s.IntN(4) == 0 {
				first += s.IntN(90)
			}
			for n := range 1 + s.weighted(4, 1) {
				name := folder + id + "/" + series + "/Image-" + itoa(first+n) + ".dcm"
				s.file(name, sliceMiccai(s, id, series, first+n, tumor))
			}
		}
	}
	numbers := s.Perm(1010)[:112]
	slices.Sort(numbers)
	var train, sample [][]string
	for i, n := range numbers {
		id, label := fmt.Sprintf("%05d", n), s.weighted(48, 52)
		if i%28 == 1 {
			patient("test/", id, float64(label))
			sample = append(sample, []string{id, "0.5"})
			continue
		}
		patient("train/", id, float64(label))
		train = append(train, []string{id, itoa(label)})
	}
	s.csv("train_labels.csv", header, train)
	s.csv("sample_submission.csv", header, sample)
}

// learnMiccai classifies by the brightest pixels of each series.
func learnMiccai(l *lesson) {
	features := func(folder, id string) (out []float64) {
		for _, series := range seriesMiccai {
			names, err := fs.Glob(l.public, folder+id+"/"+series+"/*.dcm")
			must(err)
			var peaks []float64
			for _, name := range names {
				peaks = append(peaks, float64(slices.Max(readDICOM(l.file(name)).pixels)))
			}
			out = append(out, mean(peaks))
		}
		return out
	}
	model := l.rows("train_labels.csv").classifier("MGMT_value", func(r *rows, i int) []float64 {
		return features("train/", padMiccai(r.get(i, "BraTS21ID")))
	})
	l.submitLike("sample_submission.csv", []string{"MGMT_value"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(features("test/", padMiccai(r.get(i, "BraTS21ID"))), "1"), 6)}
	})
}

// padMiccai gives a patient's number the zeros that reading a table as numbers drops.
func padMiccai(id string) string { return strings.Repeat("0", max(0, 5-len(id))) + id }
