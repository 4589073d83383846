package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// drawTaxi draws rides: the fare depends on the distance and on the hour.
func drawTaxi(s *set) {
	header := []string{"key", "fare_amount", "pickup_datetime", "pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude", "passenger_count"}
	var train, test, sample [][]string
	for i := range 510 {
		at := time.Date(2009+s.IntN(6), 1, 1, 0, 0, s.IntN(365*86400), 0, time.UTC)
		lon, lat := s.normal(-73.98, 0.02), s.normal(40.75, 0.02)
		east, north := s.normal(0, 0.02), s.normal(0, 0.02)
		fare := 3 + 210*math.Hypot(east*0.76, north) + s.normal(0, 0.8)
		if at.Hour() >= 20 {
			fare += 2
		}
		places := []string{ftoa(lon, 6), ftoa(lat, 6), ftoa(lon+east, 6), ftoa(lat+north, 6)}
		switch s.weighted(60, 1, 1) {
		case 1:
			places = []string{"0", "0", "0", "0"}
		case 2:
			if i < 500 {
				places[2], places[3] = "", ""
			}
		}
		row := append([]string{fmt.Sprintf("%s.000000%d", at.Format(time.DateTime), i%1000), strconv.FormatFloat(math.Round(max(2.5, fare)*2)/2, 'f', -1, 64), at.Format(time.DateTime) + " UTC"}, places...)
		row = append(row, itoa(1+s.weighted(70, 15, 4, 2, 7, 2)))
		if i < 500 {
			train = append(train, row)
			continue
		}
		sample = append(sample, []string{row[0], "11.35"})
		test = append(test, slices.Delete(row, 1, 2))
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", slices.Delete(slices.Clone(header), 1, 2), test)
	s.csv("sample_submission.csv", []string{"key", "fare_amount"}, sample)
	s.file("GCP-Coupons-Instructions.rtf", []byte(`{\rtf1\ansi\deff0 {\fonttbl {\f0 Helvetica;}} \f0\fs24 Coupons are not part of a rehearsal.\par}`+"\n"))
}

// learnTaxi fits a line to distance and hour.
func learnTaxi(l *lesson) {
	features := func(r *rows, i int) []float64 {
		x := []float64{0, 0, 0}
		if r.number(i, "dropoff_latitude") == 0 {
			x[2] = 1
		} else {
			x[0] = math.Hypot(0.76*(r.number(i, "dropoff_longitude")-r.number(i, "pickup_longitude")), r.number(i, "dropoff_latitude")-r.number(i, "pickup_latitude"))
		}
		if r.get(i, "pickup_datetime")[11:13] >= "20" {
			x[1] = 1
		}
		return x
	}
	train, test := l.rows("labels.csv"), l.rows("test.csv")
	model := train.regression("fare_amount", features)
	l.submitLike("sample_submission.csv", []string{"fare_amount"}, func(_ *rows, i int) []string {
		return []string{ftoa(model.predict(features(test, i)), 4)}
	})
}
