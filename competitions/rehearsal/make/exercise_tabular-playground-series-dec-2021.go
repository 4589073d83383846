package main

import (
	"strings"
)

// columnsTabularDec2021 are the numeric columns.
var columnsTabularDec2021 = []string{
	"Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology", "Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways",
	"Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points",
}

// drawTabularDec2021 draws patches of land: the cover depends on elevation and on the
// wilderness area. One class has a single row, and two soil types have none.
func drawTabularDec2021(s *set) {
	header := append([]string{"Id"}, columnsTabularDec2021...)
	for k := range 4 {
		header = append(header, "Wilderness_Area"+itoa(k+1))
	}
	for k := range 40 {
		header = append(header, "Soil_Type"+itoa(k+1))
	}
	row := func(id, class int) []string {
		middle := []float64{3180, 2900, 2500, 2250, 2750, 2400, 3350}[class-1]
		r := []string{itoa(id), itoa(int(s.normal(middle, 110)))}
		for _, v := range [][2]float64{{150, 110}, {15, 8}, {270, 230}, {50, 70}, {1770, 1300}, {211, 30}, {221, 22}, {140, 43}, {1580, 1130}} {
			r = append(r, itoa(int(s.normal(v[0], v[1]))))
		}
		areas := [][]float64{{4, 1, 5, 0.2}, {5, 1, 4, 0.2}, {0.3, 0.2, 4, 5}, {0.1, 0.1, 1, 9}, {1, 1, 5, 1}, {0.1, 0.1, 4, 5}, {4, 1, 6, 0.2}}[class-1]
		area, soil := s.weighted(areas...), s.IntN(40)
		if soil == 6 || soil == 14 {
			soil = 9
		}
		for k := range 4 {
			r = append(r, map[bool]string{true: "1", false: "0"}[k == area])
		}
		for k := range 40 {
			r = append(r, map[bool]string{true: "1", false: "0"}[k == soil && s.Float64() < 0.9])
		}
		return r
	}
	var train, test, sample [][]string
	for i := range 600 {
		class := 1 + s.weighted(365, 560, 50, 3, 0, 5, 17)
		if i == 17 {
			class = 5
		}
		train = append(train, append(row(i, class), itoa(class)))
	}
	for i := range 50 {
		test = append(test, row(4000000+i, 1+s.weighted(4, 6)))
		sample = append(sample, []string{itoa(4000000 + i), "2"})
	}
	s.csv("train.csv", append(header, "Cover_Type"), train)
	s.csv("test.csv", header, test)
	s.csv("sample_submission.csv", []string{"Id", "Cover_Type"}, sample)
}

// learnTabularDec2021 classifies by elevation and wilderness area, without the classes of
// less than ten rows.
func learnTabularDec2021(l *lesson) {
	features := func(r *rows, i int) (x []float64) {
		for j, name := range r.header {
			if name == "Elevation" || strings.HasPrefix(name, "Wilderness") {
				x = append(x, r.number(i, r.header[j]))
			}
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	counts := map[string]int{}
	for i := range train.len() {
		counts[train.get(i, "Cover_Type")]++
	}
	var x [][]float64
	var y []string
	for i := range train.len() {
		if class := train.get(i, "Cover_Type"); counts[class] >= 10 {
			x = append(x, features(train, i))
			y = append(y, class)
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"Cover_Type"}, func(_ *rows, i int) []string {
		return []string{model.class(features(test, i))}
	})
}
