package main

import "slices"

// drawMLHw2 draws frames of speech with 39 features, and those of five frames before and
// after: the features depend on the phoneme, which lasts some frames.
func drawMLHw2(s *set) {
	sounds := make([][]float64, 39)
	for k := range sounds {
		for range 39 {
			sounds[k] = append(sounds[k], float64(s.IntN(3)-1))
		}
	}
	// spoken returns the frames of utterances, and their phonemes.
	spoken := func(utterances int) (frames []float32, phonemes []short) {
		for range utterances {
			var alone [][]float32
			for len(alone) < 50 {
				phoneme := min(s.IntN(39), s.IntN(60))
				for range 3 + s.IntN(6) {
					frame := make([]float32, 39)
					for j := range frame {
						frame[j] = float32(sounds[phoneme][j]) / 2
						if s.IntN(5) == 0 {
							frame[j] += float32(s.IntN(7)-3) / 2
						}
					}
					alone, phonemes = append(alone, frame), append(phonemes, shortOf(itoa(phoneme)))
				}
			}
			for i := range alone {
				for k := i - 5; k <= i+5; k++ {
					frames = append(frames, alone[min(len(alone)-1, max(0, k))]...)
				}
			}
		}
		return frames, phonemes
	}
	frames, phonemes := spoken(9)
	s.file("timit_11/timit_11/train_11.npy", npyOf([]int{len(phonemes), 11 * 39}, frames))
	s.file("timit_11/timit_11/train_label_11.npy", npyOf([]int{len(phonemes)}, phonemes))
	tests, untold := spoken(2)
	s.file("timit_11/timit_11/test_11.npy", npyOf([]int{len(untold), 11 * 39}, tests))
	var sample [][]string
	for i := range untold {
		sample = append(sample, []string{itoa(i), "0"})
	}
	s.csv("sampleSubmission.csv", []string{"Id", "Class"}, sample)
}

// learnMLHw2 classifies by the frame in the middle, of the eleven.
func learnMLHw2(l *lesson) {
	middle := func(name string) (x [][]float64) {
		for row := range slices.Chunk(readNpy[float32](l.file("timit_11/timit_11/"+name)), 11*39) {
			frame := make([]float64, 39)
			for k, v := range row[5*39 : 6*39] {
				frame[k] = float64(v)
			}
			x = append(x, frame)
		}
		return x
	}
	var phonemes []string
	for _, p := range readNpy[short](l.file("timit_11/timit_11/train_label_11.npy")) {
		phonemes = append(phonemes, p.String())
	}
	model, tests := fitCentroids(middle("train_11.npy"), phonemes), middle("test_11.npy")
	l.submitLike("sampleSubmission.csv", []string{"ClassId"}, func(_ *rows, i int) []string {
		return []string{model.class(tests[i])}
	})
}
