package main

import (
	"math"
	"strconv"
)

// drawVolcano draws recordings of ten sensors: the stronger the tremor, the sooner the
// eruption. A sensor may be silent.
func drawVolcano(s *set) {
	var header []string
	for k := range 10 {
		header = append(header, "sensor_"+itoa(k+1))
	}
	record := func(folder, id string, strength float64) {
		rows := make([][]string, 24)
		for t := range rows {
			rows[t] = make([]string, len(header))
		}
		for k := range header {
			if s.IntN(12) == 0 {
				continue
			}
			for t := range rows {
				rows[t][k] = ftoa(math.Round(s.normal(0, 6+14*strength)), 1)
			}
			if s.IntN(30) == 0 {
				rows[s.IntN(len(rows))][k] = ""
			}
		}
		s.csv(folder+"/"+id+".csv", header, rows)
	}
	var train, sample [][]string
	for i := range 106 {
		id, strength := strconv.Itoa(400_000+s.IntN(2_147_000_000)), s.Float64()
		if i >= 100 {
			record("test", id, strength)
			sample = append(sample, []string{id, "0"})
			continue
		}
		record("train", id, strength)
		left := 48e6*(1-strength) + s.normal(0, 1.5e6)
		train = append(train, []string{id, itoa(int(max(6250, left)))})
	}
	s.csv("train.csv", []string{"segment_id", "time_to_eruption"}, train)
	s.csv("sample_submission.csv", []string{"segment_id", "time_to_eruption"}, sample)
}

// learnVolcano regresses the time on the mean swing of the sensors.
func learnVolcano(l *lesson) {
	features := func(name string) []float64 {
		r, swings := l.rows(name), []float64{}
		for i := range r.len() {
			for j, name := range r.header {
				if r.cells[i][j] != "" {
					swings = append(swings, math.Abs(r.number(i, name)))
				}
			}
		}
		return []float64{mean(swings)}
	}
	model := l.rows("train.csv").regression("time_to_eruption", func(r *rows, i int) []float64 {
		return features("train/" + r.get(i, "segment_id") + ".csv")
	})
	l.submitLike("sample_submission.csv", []string{"time_to_eruption"}, func(r *rows, i int) []string {
		return []string{itoa(int(model.predict(features("test/" + r.get(i, "segment_id") + ".csv"))))}
	})
}
