package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// How common each species is, and the size of a spectrogram.
var (
	shareBirds  = []float64{0.1, 0.25, 0.18, 0.1, 0.06, 0.04, 0.06, 0.12, 0.08, 0.2, 0.3, 0.12, 0.06, 0.05, 0.12, 0.05, 0.03, 0.03, 0.03}
	widthBirds  = 30
	heightBirds = 19
)

// recordBirds draws the files of a recording: each species in it sings at a pitch of its
// own, in a segment of the spectrogram.
func recordBirds(s, to *set, name string, birds []int, example bool) {
	starts := make([]int, len(birds))
	for i := range starts {
		starts[i] = s.IntN(widthBirds - 6)
	}
	level := func(x, y int) float64 {
		for i, k := range birds {
			if y == heightBirds-1-k && x >= starts[i] && x < starts[i]+6 {
				return 230
			}
		}
		return 40
	}
	for _, folder := range []string{"spectrograms", "filtered_spectrograms", "supervised_segmentation"} {
		to.file("supplemental_data/"+folder+"/"+name+".bmp", bmpOf(gray(widthBirds, heightBirds, level)))
	}
	if example {
		to.file("supplemental_data/segmentation_examples/"+name+".bmp", bmpOf(gray(widthBirds, heightBirds, level)))
	}
	samples := make([]int16, 300)
	for i := range samples {
		for j, k := range birds {
			if i/10 >= starts[j] && i/10 < starts[j]+6 && i/(2+k)%2 == 0 {
				samples[i] += 2000
			}
		}
	}
	to.file("essential_data/src_wavs/"+name+".wav", wavOf(16000, samples))
}

// drawBirds draws recordings: the histogram of the segments' kinds depends on the species
// that are heard.
func drawBirds(s *set) {
	d := s.part()
	folds, names, labels := "rec_id,fold\n", "rec_id,filename\n", "rec_id,[labels]\n"
	histograms, features, rectangles := "rec_id,[histogram of segment features]\n", "rec_id,segment_id,[feature vector]\n", "rec_id,segment_id,[left,right,top,bottom]\n"
	for id := range 110 {
		name := fmt.Sprintf("PC%d_2009%02d%02d_%02d0000_%04d", 1+s.IntN(18), 5+s.IntN(3), 1+s.IntN(28), 5+s.IntN(5), 10*id)
		var birds []int
		for k, share := range shareBirds {
			if s.Float64() < share {
				birds = append(birds, k)
			}
		}
		fold, label := s.weighted(2, 1), ""
		counts := make([]float64, 24)
		for segment, k := range birds {
			label += "," + itoa(k)
			counts[k] += float64(1 + s.IntN(3))
			left := s.IntN(widthBirds - 6)
			rectangles += fmt.Sprintf("%d,%d,%d,%d,%d,%d\n", id, segment, left, left+6, heightBirds-1-k, heightBirds-k)
			features += fmt.Sprintf("%d,%d,%.4f,%.4f,%.4f\n", id, segment, s.normal(float64(k), 1), s.Float64(), s.between(0, 20))
		}
		for range 4 {
			counts[s.IntN(len(counts))]++
		}
		if fold == 1 {
			label = ",?"
		}
		histograms += itoa(id)
		sum := 0.0
		for _, c := range counts {
			sum += c
		}
		for _, c := range counts {
			histograms += "," + strconv.FormatFloat(c/sum, 'g', 4, 64)
		}
		histograms += "\n"
		folds += fmt.Sprintf("%d,%d\n", id, fold)
		names += fmt.Sprintf("%d,%s\n", id, name)
		labels += itoa(id) + label + "\n"
		recordBirds(s, d, name, birds, id%9 == 0)
	}
	species := "class_id,code,species\n"
	for k := range shareBirds {
		code := strings.ToUpper(s.one("ba", "co", "he", "pa", "sw", "we") + s.one("cr", "fl", "th", "wa", "wr"))
		species += fmt.Sprintf("%d,%s,Species of %s\n", k, code, code)
	}
	for name, content := range map[string]string{
		"essential_data/CVfolds_2": folds, "essential_data/rec_id2filename": names, "essential_data/rec_labels_test_hidden": labels, "essential_data/species_list": species,
		"supplemental_data/histogram_of_segments": histograms, "supplemental_data/segment_features": features, "supplemental_data/segment_rectangles": rectangles,
	} {
		d.file(name+".txt", []byte(content))
	}
	for _, name := range []string{"segment_clusters", "segment_mosaic"} {
		d.file("supplemental_data/"+name+".bmp", bmpOf(gray(24, 24, func(x, y int) float64 { return float64(10 * (x/4 + y/4)) })))
	}
	inside := s.part()
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		inside.file("mlsp_contest_dataset/"+name, d.files[name])
	}
	s.zip("mlsp_contest_dataset.zip", inside)
}

// learnBirds regresses each species on its histogram of segments.
func learnBirds(l *lesson) {
	lines := func(name string) (all [][]string) {
		text := strings.TrimSpace(string(l.file(name)))
		for _, line := range strings.Split(text, "\n")[1:] {
			all = append(all, strings.Split(line, ","))
		}
		return all
	}
	histograms := map[string][]float64{}
	for _, cells := range lines("supplemental_data/histogram_of_segments.txt") {
		for _, c := range cells[1:] {
			v, err := strconv.ParseFloat(c, 64)
			must(err)
			histograms[cells[0]] = append(histograms[cells[0]], v)
		}
	}
	var x [][]float64
	heard := make([][]float64, len(shareBirds))
	for _, cells := range lines("essential_data/rec_labels_test_hidden.txt") {
		if len(cells) > 1 && cells[1] == "?" {
			continue
		}
		x = append(x, histograms[cells[0]])
		for k := range heard {
			y := 0.0
			if slices.Contains(cells[1:], itoa(k)) {
				y = 1
			}
			heard[k] = append(heard[k], y)
		}
	}
	models := make([]linear, len(heard))
	for k := range models {
		models[k] = fitLinear(x, heard[k])
	}
	l.submitLike("sample_submission.csv", []string{"Probability"}, func(r *rows, i int) []string {
		id := int(r.number(i, "Id"))
		return []string{ftoa(min(1, max(0, models[id%100].predict(histograms[itoa(id/100)]))), 6)}
	})
}
