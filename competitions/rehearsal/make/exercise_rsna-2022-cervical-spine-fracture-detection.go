package main

import (
	"fmt"
	"slices"
	"strings"
)

var vertebraeRSNASpine = strings.Fields("C1 C2 C3 C4 C5 C6 C7")

// sliceRSNASpine draws a slice of a scan: a bright ring of bone, with a dark gap if it is
// broken.
func sliceRSNASpine(s *set, study string, number int, broken bool) []byte {
	const size = 18
	tissue, bone, pixels := 1000+20*s.IntN(4), 1500+50*s.IntN(3), make([]uint16, size*size)
	for y := range size {
		for x := range size {
			level, r2 := 24, (2*x-size+1)*(2*x-size+1)+(2*y-size+1)*(2*y-size+1)
			if r2 < 290 {
				level = tissue
			}
			if r2 > 40 && r2 < 140 && (!broken || x < 9 || y < 7) {
				level = bone
			}
			pixels[y*size+x] = uint16(level) //nolint:gosec // 12 bits
		}
	}
	for range 2 {
		pixels[s.IntN(len(pixels))] += uint16(s.IntN(200)) //nolint:gosec // small
	}
	return dicom{
		class: "1.2.840.10008.5.1.4.1.1.2", instance: fmt.Sprintf("%s.1.%d", study, number), modality: "CT", width: size, height: size, pixels: pixels,
		about: []element{{0x10, 0x10, "PN", study[20:]}, {0x10, 0x20, "LO", study[20:]}, {0x18, 0x50, "DS", "0.625"}, {0x20, 0xd, "UI", study}, {0x20, 0xe, "UI", study + ".1"}, {0x20, 0x13, "IS", itoa(number)}},
	}.file()
}

// drawRSNASpine draws scans of necks, one slice per vertebra: the ring of a broken
// vertebra has a gap.
func drawRSNASpine(s *set) {
	numbers := s.Perm(32000)[:104]
	slices.Sort(numbers[:100])
	var train, boxes, test, sample [][]string
	for k, number := range numbers {
		study := "1.2.826.0.1.3680043." + itoa(100+number)
		row, hurt, overall := make([]string, 7), s.IntN(2) == 0, 0
		for i := range row {
			broken := hurt && s.Float64() < []float64{0.15, 0.3, 0.1, 0.12, 0.2, 0.3, 0.45}[i]
			row[i] = "0"
			if broken {
				row[i], overall = "1", 1
			}
			folder := "train_images/"
			if k >= 100 {
				folder = "test_images/"
			}
			s.file(fmt.Sprintf("%s%s/%d.dcm", folder, study, i+1), sliceRSNASpine(s, study, i+1, broken))
			if broken && k < 100 && k%2 == 0 {
				boxes = append(boxes, []string{study, ftoa(s.between(8, 9), 5), ftoa(s.between(6, 7), 5), ftoa(s.between(4, 9), 5), ftoa(s.between(4, 9), 1), itoa(i + 1)})
			}
		}
		if k >= 100 {
			target := append([]string{"patient_overall"}, vertebraeRSNASpine...)[k-100]
			test = append(test, []string{study + "_" + target, study, target})
			sample = append(sample, []string{study + "_" + target, "0.5"})
			continue
		}
		train = append(train, append([]string{study, itoa(overall)}, row...))
		if k%3 == 0 {
			s.file("segmentations/"+study+".nii", niftiOf(6, 6, 7))
		}
	}
	s.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
	s.csv("train.csv", append([]string{"StudyInstanceUID", "patient_overall"}, vertebraeRSNASpine...), train)
	s.csv("train_bounding_boxes.csv", strings.Fields("StudyInstanceUID x y width height slice_number"), boxes)
	s.csv("test.csv", []string{"row_id", "StudyInstanceUID", "prediction_type"}, test)
	s.csv("sample_submission.csv", []string{"row_id", "fractured"}, sample)
}

// learnRSNASpine regresses a fracture on the number of bright pixels of a vertebra's
// slice, less the largest of the scan.
func learnRSNASpine(l *lesson) {
	levels := func(folder, study string) []float64 {
		out := make([]float64, len(vertebraeRSNASpine))
		for k := range out {
			for _, p := range readDICOM(l.file(fmt.Sprintf("%s/%s/%d.dcm", folder, study, k+1))).pixels {
				if p > 1300 {
					out[k]++
				}
			}
		}
		top := slices.Max(out)
		for k := range out {
			out[k] = (out[k] - top) / 10
		}
		return out
	}
	train := l.rows("train.csv")
	var x [][]float64
	var y []float64
	for i := range train.len() {
		for k, level := range levels("train_images", train.get(i, "StudyInstanceUID")) {
			x, y = append(x, []float64{level}), append(y, train.number(i, vertebraeRSNASpine[k]))
		}
	}
	model := fitLinear(x, y)
	l.submitLike("sample_submission.csv", []string{"fractured"}, func(r *rows, i int) []string {
		study, target, _ := strings.Cut(r.get(i, "row_id"), "_")
		p, all := 0.02, levels("test_images", study)
		for k, level := range all {
			if v := vertebraeRSNASpine[k]; v == target || target == "patient_overall" {
				p = max(p, min(0.98, model.predict([]float64{level})))
			}
		}
		return []string{ftoa(p, 6)}
	})
}
