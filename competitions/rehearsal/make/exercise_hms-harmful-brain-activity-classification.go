package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var (
	votesHms    = []string{"seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"}
	patternsHms = []string{"Seizure", "LPD", "GPD", "LRDA", "GRDA", "Other"}
	channelsHms = strings.Fields("Fp1 F3 C3 P3 F7 T3 T5 O1 Fz Cz Pz Fp2 F4 C4 P4 F8 T4 T6 O2 EKG")
)

// parquetHms is a Parquet file of columns of doubles.
func parquetHms(names []string, columns [][]float64) []byte {
	var all []*table.Column
	for k, name := range names {
		all = append(all, table.FromFloats(name, columns[k]))
	}
	return parquetOf(all...)
}

// eegHms draws 16 samples of each channel, in whole microvolts: the pattern decides how
// wide and how fast they swing. A channel may be without a sample.
func eegHms(s *set, pattern int) []byte {
	amplitude := []float64{90, 50, 50, 25, 25, 10}[pattern]
	rate := []float64{1.2, 0.4, 1.2, 0.4, 1.2, 0.8}[pattern]
	var columns [][]float64
	for range channelsHms {
		phase, v := s.between(0, 6), make([]float64, 16)
		for t := range v {
			v[t] = math.Round(amplitude/5*math.Sin(phase+rate*float64(t))+s.normal(0, 0.3)) * 5
		}
		if s.IntN(100) == 0 {
			v[s.IntN(len(v))] = math.NaN()
		}
		columns = append(columns, v)
	}
	return parquetHms(channelsHms, columns)
}

// spectrogramHms draws three times of four regions with 5 of the 100 frequencies.
func spectrogramHms(s *set, pattern int) []byte {
	names, columns := []string{"time"}, [][]float64{{1, 3, 5}}
	for _, region := range []string{"LL", "RL", "LP", "RP"} {
		for k := range 5 {
			names = append(names, fmt.Sprintf("%s_%.2f", region, 0.59+0.2*float64(k)))
			v := make([]float64, 3)
			for t := range v {
				v[t] = float64((6-pattern)*(9-k)+s.IntN(4)) / 4
			}
			columns = append(columns, v)
		}
	}
	return parquetHms(names, columns)
}

// drawHms draws recordings of patients: the votes of the experts follow the pattern,
// which the swing of the signals shows. An EEG has several samples.
func drawHms(s *set) {
	header := append(strings.Fields("eeg_id eeg_sub_id eeg_label_offset_seconds spectrogram_id spectrogram_sub_id spectrogram_label_offset_seconds label_id patient_id expert_consensus"), votesHms...)
	number := func() string { return itoa(1000 + s.IntN(2_000_000_000)) }
	var train, test, sample [][]string
	for range 44 {
		spectrogram, patient, pattern := number(), itoa(1+s.IntN(65000)), s.weighted(20, 14, 16, 15, 18, 18)
		s.file("train_spectrograms/"+spectrogram+".parquet", spectrogramHms(s, pattern))
		sub := 0
		for range 1 + s.weighted(3, 1) {
			eeg := number()
			s.file("train_eegs/"+eeg+".parquet", eegHms(s, pattern))
			offset := 0
			for k := range 1 + s.IntN(4) {
				row := []string{
					eeg, itoa(k), ftoa(float64(offset), 1), spectrogram, itoa(sub), ftoa(float64(offset+10*sub), 1), number(), patient, patternsHms[pattern],
				}
				votes := make([]int, 6)
				votes[pattern] = 2
				for range 1 + s.IntN(12) {
					votes[[]int{pattern, s.IntN(6)}[s.weighted(3, 1)]]++
				}
				for _, v := range votes {
					row = append(row, itoa(v))
				}
				train = append(train, row)
				offset += 2 * (1 + s.IntN(10))
				sub++
			}
		}
	}
	spectrogram, eeg := number(), number()
	s.file("test_spectrograms/"+spectrogram+".parquet", spectrogramHms(s, 0))
	s.file("test_eegs/"+eeg+".parquet", eegHms(s, 0))
	test = append(test, []string{spectrogram, eeg, number()})
	line := []string{eeg}
	for range votesHms {
		line = append(line, "0.166667")
	}
	sample = append(sample, line)
	s.csv("train.csv", header, train)
	s.csv("test.csv", []string{"spectrogram_id", "eeg_id", "patient_id"}, test)
	s.csv("sample_submission.csv", append([]string{"eeg_id"}, votesHms...), sample)
	for _, name := range []string{"LPD_BIPD", "Seizure"} {
		s.file("example_figures/"+name+".pdf", []byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"))
	}
}

// swingHms returns how wide and how fast the channels of an EEG swing.
func swingHms(data []byte) []float64 {
	var widths, steps []float64
	read := parquetColumns(data)
	for _, name := range slices.Sorted(maps.Keys(read)) {
		v := slices.DeleteFunc(read[name], math.IsNaN)
		for k := 1; k < len(v); k++ {
			widths = append(widths, math.Abs(v[k]))
			steps = append(steps, math.Abs(v[k]-v[k-1]))
		}
	}
	width, step := mean(widths), mean(steps)
	return []float64{math.Log(1 + width), step / (1 + width)}
}

// learnHms classifies by the swing, and predicts the mean shares of votes of the classes.
func learnHms(l *lesson) {
	train := l.rows("train.csv")
	known := map[string][]float64{}
	swing := func(part, eeg string) []float64 {
		if _, ok := known[eeg]; !ok {
			known[eeg] = swingHms(l.file(part + "_eegs/" + eeg + ".parquet"))
		}
		return known[eeg]
	}
	var x [][]float64
	var y []string
	shares, count := map[string][]float64{}, map[string]float64{}
	for i := range train.len() {
		class, votes, sum := train.get(i, "expert_consensus"), make([]float64, 6), 0.0
		for k, name := range votesHms {
			votes[k] = train.number(i, name)
			sum += votes[k]
		}
		if shares[class] == nil {
			shares[class] = make([]float64, 6)
		}
		for k, v := range votes {
			shares[class][k] += v / sum
		}
		count[class]++
		x, y = append(x, swing("train", train.get(i, "eeg_id"))), append(y, class)
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", votesHms, func(r *rows, i int) []string {
		out, sum := make([]float64, 6), 0.0
		for c, p := range model.probabilities(swing("test", r.get(i, "eeg_id"))) {
			class := model.classes[c]
			for k := range out {
				out[k] += p * shares[class][k] / count[class]
				sum += p * shares[class][k] / count[class]
			}
		}
		var cells []string
		for _, v := range out {
			cells = append(cells, ftoa(v/sum, 9))
		}
		return cells
	})
}
