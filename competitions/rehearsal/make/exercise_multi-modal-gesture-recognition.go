package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var gesturesMultiModal = strings.Fields(`vattene vieniqui perfetto furbo cheduepalle chevuoi daccordo seipazzo combinato freganiente
ok cosatifarei basta prendere noncenepiu fame tantotempo buonissimo messidaccordo sonostufo`)

// drawMultiModal draws recordings: a gesture comes with a word, a tone whose pitch depends
// on it. One in twelve is spoken unclearly.
func drawMultiModal(s *set) {
	var training [][]string
	for k, first := range []int{1, 101, 201, 301} {
		archive := s.part()
		id := first
		for range []int{8, 7, 6, 7}[k] {
			var gestures []int
			for _, g := range s.Perm(20)[:6+s.IntN(7)] {
				gestures = append(gestures, g+1)
			}
			training = append(training, []string{fmt.Sprintf("%04d", id), joinMultiModal(gestures)})
			recordMultiModal(s, archive, id, gestures, true)
			id += 1 + s.IntN(6)
		}
		s.tarGz(fmt.Sprintf("training%d.tar.gz", k+1), archive)
	}
	s.csv("training.csv", []string{"Id", "Sequence"}, training)
	id := 410
	for k := range 3 {
		archive := s.part()
		recordMultiModal(s, archive, id, []int{1 + s.IntN(10), 11 + s.IntN(10), 1 + s.IntN(10)}, false)
		id += 1 + s.IntN(6)
		s.tarGz(fmt.Sprintf("validation%d.tar.gz", k+1), archive)
	}
	var tests, random [][]string
	for i := range 5 {
		name := fmt.Sprintf("%04d", 700+i)
		order := s.Perm(20)
		for k := range order {
			order[k]++
		}
		tests = append(tests, []string{name})
		random = append(random, []string{name, joinMultiModal(order)})
	}
	s.csv("test.csv", []string{"Id"}, tests)
	s.csv("randomPredictions.csv", []string{"Id", "Sequence"}, random)
	other := s.part()
	other.file("devel01/devel01_train.csv", []byte("devel01_1,1\ndevel01_2,2\n"))
	s.sevenZip("devel01-40.7z", other)
	other = s.part()
	other.file("valid01/valid01_train.csv", []byte("valid01_1,1\nvalid01_2,2\n"))
	s.sevenZip("valid_all_files_combined.7z", other)
	other = s.part()
	other.file("sample_code_mmrgc/main.m", []byte("% Reads a recording.\nload('Sample00001_data.mat');\ndisp(Video.NumFrames);\n"))
	s.zip("sample_code_mmrgc.zip", other)
}

func joinMultiModal(gestures []int) string { return strings.Trim(fmt.Sprint(gestures), "[]") }

// recordMultiModal adds a recording: sound, three videos and a MATLAB file with the
// skeleton, and with the gestures if they are shown.
func recordMultiModal(s *set, to *set, id int, gestures []int, shown bool) {
	name := fmt.Sprintf("Sample%05d", id)
	inside := s.part()
	samples := make([]int16, 40)
	labels := make([]fieldMAT, 3)
	labels[0].name, labels[1].name, labels[2].name = "Name", "Begin", "End"
	for i, g := range gestures {
		pitch := g
		if s.IntN(12) == 0 {
			pitch = min(20, g+1)
		}
		period := 4 + 2*pitch
		for k := range 100 {
			level := int16(4000)
			if k%period >= period/2 {
				level = -4000
			}
			samples = append(samples, level)
		}
		samples = append(samples, make([]int16, 40+20*s.IntN(2))...)
		labels[0].values = append(labels[0].values, textMAT(gesturesMultiModal[g-1]))
		labels[1].values = append(labels[1].values, doublesMAT(1, 1, float64(60*i+1)))
		labels[2].values = append(labels[2].values, doublesMAT(1, 1, float64(60*i+40)))
	}
	joints := make([]float64, 60)
	for k := range joints {
		joints[k] = float64(s.IntN(16)) / 8
	}
	shownLabels := doublesMAT(0, 0)
	if shown {
		shownLabels = structMAT(len(gestures), labels...)
	}
	skeleton := structMAT(1, fieldMAT{"WorldPosition", []arrayMAT{doublesMAT(20, 3, joints...)}})
	video := structMAT(1,
		fieldMAT{"NumFrames", []arrayMAT{doublesMAT(1, 1, float64(60*len(gestures)))}}, fieldMAT{"FrameRate", []arrayMAT{doublesMAT(1, 1, 20)}},
		fieldMAT{"Frames", []arrayMAT{structMAT(1, fieldMAT{"Skeleton", []arrayMAT{skeleton}})}}, fieldMAT{"MaxDepth", []arrayMAT{doublesMAT(1, 1, 3500)}},
		fieldMAT{"Labels", []arrayMAT{shownLabels}},
	)
	inside.file(name+"_audio.wav", wavOf(16000, samples))
	inside.file(name+"_data.mat", fileMAT("Video", video))
	for k, kind := range []string{"color", "depth", "user"} {
		inside.file(name+"_"+kind+".mp4", mp4Of(1, 1, 20, [][]colorMP4{{{uint8(60 + 50*k + s.IntN(40)), 128, 128}}})) //nolint:gosec // below 256
	}
	to.zip(name+".zip", inside)
}

// wordsMultiModal returns the words of each recording of an archive, by the recording's
// last four digits. The feature of a word is the length of a half-wave.
func wordsMultiModal(l *lesson, archive string) map[string][][]float64 {
	all := map[string][][]float64{}
	for name, recording := range unpacked(archive, l.file(archive)) {
		stem := strings.TrimSuffix(name, ".zip")
		var words [][]float64
		quiet, run, longest, last := 0, 0.0, 0.0, int16(0)
		for _, v := range wavSamples(unpacked(name, recording)[stem+"_audio.wav"]) {
			if v == 0 {
				if quiet++; quiet == 30 && longest > 0 {
					words, longest = append(words, []float64{longest}), 0
				}
				continue
			}
			if quiet > 0 || (v > 0) != (last > 0) {
				run = 0
			}
			run++
			quiet, last, longest = 0, v, max(longest, run)
		}
		all[stem[len(stem)-4:]] = words
	}
	return all
}

// learnMultiModal classifies each word of a recording by the length of its half-waves.
func learnMultiModal(l *lesson) {
	train := readRowsAsTextMultiModal(l.file("training.csv"))
	var x [][]float64
	var y []string
	for k := range 3 {
		words := wordsMultiModal(l, fmt.Sprintf("training%d.tar.gz", k+1))
		for _, id := range slices.Sorted(maps.Keys(words)) {
			for i, gesture := range strings.Fields(train[id]) {
				x, y = append(x, words[id][i]), append(y, gesture)
			}
		}
	}
	model, tests := fitCentroids(x, y), wordsMultiModal(l, "test.tar.gz")
	var out [][]string
	for _, id := range slices.Sorted(maps.Keys(tests)) {
		var gestures []string
		for _, word := range tests[id] {
			gestures = append(gestures, model.class(word))
		}
		out = append(out, []string{id, strings.Join(gestures, " ")})
	}
	l.submit([]string{"Id", "Sequence"}, out)
}

// readRowsAsTextMultiModal returns the second column by the first, with leading zeros.
func readRowsAsTextMultiModal(data []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		id, sequence, _ := strings.Cut(strings.TrimSpace(line), ",")
		out[id] = sequence
	}
	return out
}
