package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	sideContrails  = 16
	timesContrails = 8
	shownContrails = 4 // the time that is labelled
)

// trailContrails draws the pixels of a contrail: a diagonal stripe, or none.
func trailContrails(s *set) []bool {
	const n = sideContrails
	on := make([]bool, n*n)
	if s.IntN(9) < 4 {
		return on
	}
	slope, at := s.between(-1, 1), s.between(4, 12)
	first, last := s.IntN(5), 10+s.IntN(6)
	for x := first; x <= last; x++ {
		y := int(at + slope*float64(x-n/2))
		for _, yy := range []int{y, y + 1} {
			if yy >= 0 && yy < n {
				on[yy*n+x] = true
			}
		}
	}
	return on
}

// recordContrails draws the bands of a record, and its masks: a contrail appears at the
// labelled time, is colder, and more so in the bands of long waves.
func recordContrails(s *set, folder, masks string) {
	const n = sideContrails
	on, warm := trailContrails(s), 280+float64(s.IntN(12))
	background := make([]float64, n*n)
	for i := range background {
		background[i] = warm + float64(i%n/4) - 0.5*float64(i/n/8)
	}
	for range 5 {
		background[s.IntN(n*n)] -= 3
	}
	for band := 8; band <= 16; band++ {
		v := make([]float32, 0, n*n*timesContrails)
		for i, level := range background {
			for t := range timesContrails {
				x := level - 4*math.Abs(float64(band)-13)
				if on[i] && t >= shownContrails {
					x -= 2 + 1.5*max(0, float64(16-band))
				}
				v = append(v, float32(x))
			}
		}
		s.file(fmt.Sprintf("%s/band_%02d.npy", folder, band), npyOf([]int{n, n, timesContrails}, v))
	}
	pixels, raters := make([]int32, n*n), 4
	individual := make([]int32, n*n*raters)
	for i := range pixels {
		if !on[i] || s.IntN(16) == 0 {
			continue // no trail, or one that the raters overlook
		}
		pixels[i] = 1
		for k := range raters {
			if s.IntN(40) > 0 {
				individual[i*raters+k] = 1
			}
		}
	}
	if strings.Contains(masks, "individual") {
		s.file(folder+"/human_individual_masks.npy", npyOf([]int{n, n, 1, raters}, individual))
	}
	if strings.Contains(masks, "pixel") {
		s.file(folder+"/human_pixel_masks.npy", npyOf([]int{n, n, 1}, pixels))
	}
}

// drawContrails draws satellite images: the mask depends on the temperatures of the bands.
func drawContrails(s *set) {
	draw := func(part, masks string, count int) (meta []any) {
		for range count {
			id := strconv.FormatInt(1e17+s.Int64N(9e18), 10)
			recordContrails(s, part+"/"+id, masks)
			meta = append(meta, ordered{"record_id", id, "row_min", math.Round(s.between(-4e6, 4e6)*10) / 10, "row_size", -501.1, "col_min", math.Round(s.between(-4e6, 4e6)*10) / 10, "col_size", 501.1,
				"timestamp", math.Round(s.between(1.55e9, 1.6e9)),
				"projection_wkt", `PROJCS["unnamed",GEOGCS["GCS",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257]],UNIT["degree",0.0174532925199433]],PROJECTION["Geostationary_Satellite"],UNIT["metre",1]]`})
		}
		return meta
	}
	s.json("train_metadata.json", draw("train", "individual pixel", 30))
	s.json("validation_metadata.json", draw("validation", "pixel", 7))
	draw("test", "", 2)
	s.csv("sample_submission.csv", []string{"record_id", "encoded_pixels"}, [][]string{{"1000834164244036115", "1 3 10 5"}, {"1002653297254493116", "-"}})
}

// learnContrails classifies pixels by the difference of two bands, and by how one band
// changes with time.
func learnContrails(l *lesson) {
	const n = sideContrails
	features := func(folder string) (x [][]float64) {
		short, long := readNpy[float32](l.file(folder+"/band_13.npy")), readNpy[float32](l.file(folder+"/band_15.npy"))
		for i := range n * n {
			t := i*timesContrails + shownContrails
			x = append(x, []float64{float64(long[t] - short[t]), float64(long[t] - long[t-1])})
		}
		return x
	}
	var x [][]float64
	var y []string
	var records []struct {
		ID string `json:"record_id"`
	}
	must(json.Unmarshal(l.file("train_metadata.json"), &records))
	for _, r := range records {
		for _, v := range readNpy[int32](l.file("train/" + r.ID + "/human_pixel_masks.npy")) {
			y = append(y, itoa(int(v)))
		}
		x = append(x, features("train/"+r.ID)...)
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"encoded_pixels"}, func(r *rows, i int) []string {
		all, runs, length := features("test/"+r.get(i, "record_id")), []string{}, 0
		for k := range n*n + 1 {
			if k < n*n && model.class(all[k%n*n+k/n]) == "1" {
				length++
			} else if length > 0 {
				runs, length = append(runs, itoa(k-length+1), itoa(length)), 0
			}
		}
		if len(runs) == 0 {
			return []string{"-"}
		}
		return []string{strings.Join(runs, " ")}
	})
}
