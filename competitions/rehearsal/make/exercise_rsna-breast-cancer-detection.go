package main

import (
	"math"
	"slices"
)

// drawRSNABreast draws mammograms, four of each patient: a cancer is a bright spot, and
// depends a little on the age.
func drawRSNABreast(s *set) {
	header := []string{"site_id", "patient_id", "image_id", "laterality", "view", "age", "cancer", "biopsy", "invasive", "BIRADS", "implant", "density", "machine_id", "difficult_negative_case"}
	var train, test [][]string
	seen := map[string]bool{}
	id := func(limit int) string {
		for {
			if v := itoa(1 + s.IntN(limit)); !seen[v] {
				seen[v] = true
				return v
			}
		}
	}
	for n := range 92 {
		patient, site, age, density := id(65500), 1+s.IntN(2), s.normal(58, 10), s.one("A", "B", "B", "C", "C", "D")
		machine := s.one("21", "29", "48", "49", "93", "170")
		folder := "train_images/"
		if n >= 90 {
			folder = "test_images/"
		}
		for _, side := range []string{"L", "R"} {
			cancer := s.Float64() < 0.13+max(0, age-58)/200
			cells := []string{"0", "0", "0", s.one("0", "1", "2"), "0", density, machine, "False"}
			switch {
			case cancer:
				cells[0], cells[1], cells[2], cells[3] = "1", "1", s.one("0", "1", "1"), "0"
			case s.IntN(8) == 0:
				cells[1], cells[3], cells[7] = s.one("0", "1"), "0", "True"
			}
			if site == 2 {
				cells[3], cells[5] = "", ""
			}
			for _, view := range []string{"CC", "MLO"} {
				image := id(2_000_000_000)
				row := append([]string{itoa(site), patient, image, side, view, itoa(int(age))}, cells...)
				if n == 7 {
					row[5] = ""
				}
				s.file(folder+patient+"/"+image+".dcm", mammogramRSNABreast(s, patient, image, side, view, cancer))
				if n < 90 {
					train = append(train, row)
				} else {
					test = append(test, append(slices.Clone(row[:6]), row[10], row[12], patient+"_"+side))
				}
			}
		}
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", []string{"site_id", "patient_id", "image_id", "laterality", "view", "age", "implant", "machine_id", "prediction_id"}, test)
	var sample [][]string
	for i := 0; i < len(test); i += 2 {
		sample = append(sample, []string{test[i][8], "0.021"})
	}
	s.csv("sample_submission.csv", []string{"prediction_id", "cancer"}, sample)
}

// mammogramRSNABreast draws a half disk at the edge of its side, as a DICOM file.
func mammogramRSNABreast(s *set, patient, image, side, view string, cancer bool) []byte {
	const width, height = 20, 24
	pixels := make([]uint16, width*height)
	light, x0, y0, spot := s.between(500, 900), s.between(3, 9), s.between(8, 16), 0.0
	if cancer {
		spot = s.between(900, 1600)
	} else if s.IntN(4) == 0 {
		spot = s.between(200, 600)
	}
	for i := range pixels {
		x, y := float64(i%width), float64(i/width)
		if math.Hypot(x, y-height/2) > 13 {
			continue
		}
		v := math.Round(light/50) * 50
		if math.Hypot(x-x0, y-y0) < 2.5 {
			v += math.Round(spot)
		}
		at := i
		if side == "R" {
			at = i/width*width + width - 1 - i%width
		}
		pixels[at] = uint16(v)
	}
	return dicom{
		class: "1.2.840.10008.5.1.4.1.1.1.2", instance: "1.2.826.0.1.3680043.8.498." + image, modality: "MG",
		width: width, height: height, pixels: pixels,
		about: []element{{0x10, 0x20, "LO", patient}, {0x18, 0x5101, "CS", view}, {0x20, 0x13, "IS", image}, {0x20, 0x62, "CS", side}},
	}.file()
}

// learnRSNABreast classifies by how much the brightest pixel exceeds the mean.
func learnRSNABreast(l *lesson) {
	features := func(r *rows, i int, folder string) []float64 {
		pixels := readDICOM(l.file(folder + r.get(i, "patient_id") + "/" + r.get(i, "image_id") + ".dcm")).pixels
		slices.Sort(pixels)
		return []float64{float64(pixels[len(pixels)-3]) - float64(pixels[len(pixels)*3/4])}
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model, found := train.classifier("cancer", func(r *rows, i int) []float64 {
		return features(r, i, "train_images/")
	}), map[string][]float64{}
	for i := range test.len() {
		id := test.get(i, "prediction_id")
		found[id] = append(found[id], model.probability(features(test, i, "test_images/"), "1"))
	}
	l.submitLike("sample_submission.csv", []string{"cancer"}, func(r *rows, i int) []string {
		return []string{ftoa(mean(found[r.get(i, "prediction_id")]), 6)}
	})
}
