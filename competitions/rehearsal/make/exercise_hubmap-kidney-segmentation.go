package main

import (
	"slices"
	"strconv"
	"strings"
)

// drawHubmap draws microscope images of kidney tissue: a glomerulus is a disc, and more
// violet than the rest. Run lengths go down the columns.
func drawHubmap(s *set) {
	var train, info, sample [][]string
	for i := range 20 {
		id := s.hex(9)
		picture, runs, outlines := tissueHubmap(s)
		folder, patient := "train/", itoa(63000+s.IntN(6000))
		row := []string{id + ".tiff", itoa(picture.width), itoa(picture.height), id + "-anatomical-structure.json", id + ".json", patient}
		weight, height := s.between(55, 130), float64(150+s.IntN(45))
		row = append(row, s.one("White", "White", "Black or African American"), s.one("", "", "Not Hispanic or Latino"), s.one("Male", "Female"), itoa(20+s.IntN(60)))
		row = append(row, ftoa(weight, 1), ftoa(height, 1), ftoa(weight/height/height*1e4, 1), s.one("Left", "Right"))
		cortex := 55 + 5*s.IntN(7)
		info = append(info, append(row, itoa(cortex), itoa(100-cortex)))
		if i%4 == 3 {
			folder = "test/"
			sample = append(sample, []string{id, ""})
		} else {
			train = append(train, []string{id, strings.Join(runs, " ")})
			s.json(folder+id+".json", outlines)
		}
		s.file(folder+id+".tiff", picture.file(layoutTIFF{last: true, planar: i%5 == 4}))
		w, h := picture.width, picture.height
		s.json(folder+id+"-anatomical-structure.json", []any{
			outlineHubmap("Cortex", [][2]int{{0, 0}, {w * 2 / 3, 0}, {w * 2 / 3, h}, {0, h}, {0, 0}}),
			outlineHubmap("Medulla", [][2]int{{w * 2 / 3, 0}, {w, 0}, {w, h}, {w * 2 / 3, h}, {w * 2 / 3, 0}}),
		})
	}
	s.csv("train.csv", []string{"id", "encoding"}, train)
	s.csv("sample_submission.csv", []string{"id", "predicted"}, sample)
	header := "image_file,width_pixels,height_pixels,anatomical_structures_segmention_file,glomerulus_segmentation_file,patient_number,race,ethnicity,sex,age,weight_kilograms,height_centimeters,bmi_kg/m^2,laterality,percent_cortex,percent_medulla"
	s.csv("HuBMAP-20-dataset_information.csv", strings.Split(header, ","), info)
}

// outlineHubmap is a polygon with a class.
func outlineHubmap(class string, points [][2]int) any {
	return map[string]any{
		"type": "Feature", "id": "PathAnnotationObject", "geometry": map[string]any{"type": "Polygon", "coordinates": [][][2]int{points}},
		"properties": map[string]any{"classification": map[string]any{"name": class, "colorRGB": -3140401}, "isLocked": true, "measurements": []any{}},
	}
}

// tissueHubmap draws an image with three to six glomeruli, and returns their run lengths
// and outlines.
func tissueHubmap(s *set) (p tiff, runs []string, outlines []any) {
	p = tiff{width: 40 + s.IntN(16), height: 36 + s.IntN(16), bits: 8}
	down := make([]bool, p.width*p.height)
	for range p.width * p.height {
		n := 10 * (s.weighted(1, 6, 1) - 1)
		p.pixels = append(p.pixels, uint8(215+n), uint8(170+n), uint8(200+n)) //nolint:gosec // below 256
	}
	for range 3 + s.IntN(4) {
		x0, y0, radius := 5+s.IntN(p.width-10), 5+s.IntN(p.height-10), 3+s.IntN(3)
		violet := 12 * s.IntN(4)
		for x := x0 - radius; x <= x0+radius; x++ {
			for y := y0 - radius; y <= y0+radius; y++ {
				if x >= 0 && y >= 0 && x < p.width && y < p.height && (x-x0)*(x-x0)+(y-y0)*(y-y0) <= radius*radius {
					down[x*p.height+y] = true
					copy(p.pixels[3*(y*p.width+x):], []byte{uint8(165 + violet), uint8(120 + violet), uint8(185 + violet/2)}) //nolint:gosec // below 256
				}
			}
		}
		outlines = append(outlines, outlineHubmap("glomerulus", [][2]int{{x0 - radius, y0}, {x0, y0 - radius}, {x0 + radius, y0}, {x0, y0 + radius}, {x0 - radius, y0}}))
	}
	return p, runLengths(down), outlines
}

// learnHubmap gives each pixel the class with the nearest mean color.
func learnHubmap(l *lesson) {
	colorsDown := func(name string) (x [][]float64) {
		p := readTIFF(l.file(name))
		for i := range p.width * p.height {
			v := p.pixels[3*(i%p.height*p.width+i/p.height):]
			x = append(x, []float64{float64(v[0]), float64(v[1]), float64(v[2])})
		}
		return x
	}
	train := l.rows("train.csv")
	var x [][]float64
	var y []string
	for i := range train.len() {
		pixels := colorsDown("train/" + train.get(i, "id") + ".tiff")
		classes := slices.Repeat([]string{"no"}, len(pixels))
		runs := strings.Fields(train.get(i, "encoding"))
		for k := 0; k < len(runs); k += 2 {
			start, err := strconv.Atoi(runs[k])
			must(err)
			length, err := strconv.Atoi(runs[k+1])
			must(err)
			for at := range length {
				classes[start-1+at] = "yes"
			}
		}
		x, y = append(x, pixels...), append(y, classes...)
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"predicted"}, func(r *rows, i int) []string {
		var inside []bool
		for _, v := range colorsDown("test/" + r.get(i, "id") + ".tiff") {
			inside = append(inside, model.class(v) == "yes")
		}
		return []string{strings.Join(runLengths(inside), " ")}
	})
}
