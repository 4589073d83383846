package main

import (
	"fmt"
	"strings"
)

var classesVinbig = []string{
	"Aortic enlargement", "Atelectasis", "Calcification", "Cardiomegaly", "Consolidation", "ILD", "Infiltration", "Lung Opacity",
	"Nodule/Mass", "Other lesion", "Pleural effusion", "Pleural thickening", "Pneumothorax", "Pulmonary fibrosis",
}

// drawVinbig draws X-rays of 32×32 pixels: a finding is a bright rectangle whose level
// gives its class; three radiologists differ by a pixel.
func drawVinbig(s *set) {
	const side = 32
	xray := func(class, x0, y0, x1, y1 int) []byte {
		inverted := s.IntN(6) == 0
		pixels := make([]uint16, 0, side*side)
		for y := range side {
			for x := range side {
				v := 400 + 8*y + 10*(s.IntN(12)/11)
				if class < 14 && x >= x0 && x < x1 && y >= y0 && y < y1 {
					v = 1200 + 300*class
				}
				if inverted {
					v = 4095 - v
				}
				pixels = append(pixels, uint16(min(4095, max(0, v)))) //nolint:gosec // 12 bits
			}
		}
		return dicom{
			class: "1.2.840.10008.5.1.4.1.1.1.1", instance: "1.2.826.0.1.1", modality: "DX",
			width: side, height: side, inverted: inverted, pixels: pixels, about: []element{{0x18, 0x1164, "DS", "0.139\\0.139"}},
		}.file()
	}
	var train, sample [][]string
	for i := range 110 {
		id, class := s.hex(32), 14
		if s.IntN(3) > 0 {
			class = []int{0, 3, 7, 8}[s.weighted(4, 3, 2, 1)]
		}
		x0, y0 := 1+s.IntN(12), 1+s.IntN(12)
		x1, y1 := x0+8+s.IntN(9), y0+8+s.IntN(9)
		if i >= 106 {
			s.file("test/"+id+".dicom", xray(class, x0, y0, x1, y1))
			sample = append(sample, []string{id, "14 1 0 0 1 1"})
			continue
		}
		s.file("train/"+id+".dicom", xray(class, x0, y0, x1, y1))
		first := s.IntN(14)
		for k := range 3 {
			rad := "R" + itoa(1+first+k)
			if class == 14 {
				train = append(train, []string{id, "No finding", "14", rad, "", "", "", ""})
				continue
			}
			shift := s.IntN(3) - 1
			train = append(train, []string{id, classesVinbig[class], itoa(class), rad, itoa(x0 + shift), itoa(y0), itoa(x1), itoa(y1 + shift)})
		}
	}
	s.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
	s.csv("train.csv", strings.Split("image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max", ","), train)
	s.csv("sample_submission.csv", []string{"image_id", "PredictionString"}, sample)
}

// findingVinbig returns the box of the bright pixels, and their mean level.
func findingVinbig(data []byte) (box [4]int, level float64) {
	xray := readDICOM(data)
	box = [4]int{xray.width, xray.width, 0, 0}
	var levels []float64
	for k, p := range xray.pixels {
		v, x, y := int(p), k%xray.width, k/xray.width
		if xray.inverted {
			v = 4095 - v
		}
		if v > 900 {
			levels = append(levels, float64(v))
			box = [4]int{min(box[0], x), min(box[1], y), max(box[2], x+1), max(box[3], y+1)}
		}
	}
	return box, mean(levels)
}

// learnVinbig classifies the level of the bright pixels.
func learnVinbig(l *lesson) {
	train := l.rows("train.csv")
	var x [][]float64
	var y []string
	for i := range train.len() {
		_, level := findingVinbig(l.file("train/" + train.get(i, "image_id") + ".dicom"))
		x, y = append(x, []float64{level}), append(y, train.get(i, "class_id"))
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"PredictionString"}, func(r *rows, i int) []string {
		box, level := findingVinbig(l.file("test/" + r.get(i, "image_id") + ".dicom"))
		class := model.class([]float64{level})
		if class == "14" {
			return []string{"14 1 0 0 1 1"}
		}
		sure := model.probability([]float64{level}, class)
		return []string{fmt.Sprintf("%s %.3f %d %d %d %d", class, sure, box[0], box[1], box[2], box[3])}
	})
}
