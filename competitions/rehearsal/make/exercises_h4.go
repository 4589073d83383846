package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"path"
	"strings"
	"time"
)

// drawAptos draws photographs of retinas, discs on black: a worse one has more yellow spots.
func drawAptos(s *set) {
	retina := func(diagnosis int) []byte {
		width, height := 22, 18
		if s.IntN(4) == 0 {
			width = 18
		}
		img := image.NewRGBA(image.Rect(0, 0, width, height))
		c := color.RGBA{uint8(150 + 10*s.IntN(5)), uint8(60 + 10*s.IntN(5)), 30, 255} //nolint:gosec // below 256
		for i := range width * height {
			dx, dy := float64(i%width)-float64(width-1)/2, float64(i/width)-float64(height-1)/2
			if img.SetRGBA(i%width, i/width, color.RGBA{0, 0, 0, 255}); dx*dx+dy*dy < 75 {
				img.SetRGBA(i%width, i/width, c)
			}
		}
		for range 3*diagnosis + s.IntN(3+diagnosis) {
			img.SetRGBA(width/2-5+s.IntN(11), height/2-5+s.IntN(11), color.RGBA{230, 210, 90, 255})
		}
		return pngOf(img)
	}
	var train, tests, sample [][]string
	for i := range 206 {
		id, diagnosis := s.hex(12), s.weighted(49, 10, 27, 6, 8)
		if i >= 200 {
			s.file("test_images/"+id+".png", retina(diagnosis))
			tests, sample = append(tests, []string{id}), append(sample, []string{id, "0"})
			continue
		}
		s.file("train_images/"+id+".png", retina(diagnosis))
		train = append(train, []string{id, itoa(diagnosis)})
	}
	s.csv("train.csv", []string{"id_code", "diagnosis"}, train)
	s.csv("test.csv", []string{"id_code"}, tests)
	s.csv("sample_submission.csv", []string{"id_code", "diagnosis"}, sample)
}

// learnAptos classifies by the number of bright pixels.
func learnAptos(l *lesson) {
	spots := func(name string) []float64 {
		img, _, err := image.Decode(bytes.NewReader(l.file(name)))
		must(err)
		n := 0.0
		for i := range img.Bounds().Dx() * img.Bounds().Dy() {
			if _, green, _, _ := img.At(i%img.Bounds().Dx(), i/img.Bounds().Dx()).RGBA(); green>>8 > 160 {
				n++
			}
		}
		return []float64{n}
	}
	model := l.rows("train.csv").classifier("diagnosis", func(r *rows, i int) []float64 {
		return spots("train_images/" + r.get(i, "id_code") + ".png")
	})
	l.submitLike("sample_submission.csv", []string{"diagnosis"}, func(r *rows, i int) []string {
		return []string{model.class(spots("test_images/" + r.get(i, "id_code") + ".png"))}
	})
}

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
	spoken := func(utterances int) (frames [][]float32, phonemes []string) {
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
					alone, phonemes = append(alone, frame), append(phonemes, itoa(phoneme))
				}
			}
			for i := range alone {
				var window []float32
				for k := i - 5; k <= i+5; k++ {
					window = append(window, alone[min(len(alone)-1, max(0, k))]...)
				}
				frames = append(frames, window)
			}
		}
		return frames, phonemes
	}
	frames, phonemes := spoken(9)
	s.file("timit_11/timit_11/train_11.npy", floatsHw2(frames))
	s.file("timit_11/timit_11/train_label_11.npy", textsHw2(phonemes))
	tests, _ := spoken(2)
	s.file("timit_11/timit_11/test_11.npy", floatsHw2(tests))
	var sample [][]string
	for i := range tests {
		sample = append(sample, []string{itoa(i), "0"})
	}
	s.csv("sampleSubmission.csv", []string{"Id", "Class"}, sample)
}

// learnMLHw2 classifies by the frame in the middle, of the eleven.
func learnMLHw2(l *lesson) {
	middle := func(name string) (x [][]float64) {
		for _, row := range readFloatsHw2(l.file("timit_11/timit_11/"+name), 429) {
			x = append(x, row[5*39:6*39])
		}
		return x
	}
	model, tests := fitCentroids(middle("train_11.npy"), readTextsHw2(l.file("timit_11/timit_11/train_label_11.npy"))), middle("test_11.npy")
	l.submitLike("sampleSubmission.csv", []string{"ClassId"}, func(_ *rows, i int) []string {
		return []string{model.class(tests[i])}
	})
}

// drawRightWhale draws clips of four days: a call is a louder tone that rises. Names hold
// the time, a number and, for the training clips, the label.
func drawRightWhale(s *set) {
	clip := func(label int) []byte {
		samples := make([]int16, 200)
		loud, phase := float64(label)*s.between(30, 90), 0.0
		for i := range samples {
			phase += 0.15 + 0.003*float64(i)
			samples[i] = int16(math.Round(s.normal(0, 2))) * 16
			if i > 40 && i < 160 {
				samples[i] += int16(math.Round(loud*math.Sin(phase)/16)) * 16
			}
		}
		return aiffRightWhale(2000, samples)
	}
	train, test := s.part(), s.part()
	number := 0
	for _, day := range []int{28, 29, 30, 31} {
		at := time.Date(2009, 3, day, 0, 0, 0, 0, time.UTC)
		for range 32 {
			at = at.Add(time.Duration(s.IntN(1500)) * time.Second)
			label := s.weighted(3, 1)
			name := fmt.Sprintf("%s_%03ds%dms_TRAIN%d_%d.aif", at.Format("20060102_150405"), s.IntN(900), s.IntN(10), number, label)
			train.file("train2/"+name, clip(label))
			number++
		}
	}
	var sample [][]string
	for i := range 6 {
		name := fmt.Sprintf("20090401_%02d1500_%03ds%dms_Test%d.aif", 3*i, s.IntN(900), s.IntN(10), i)
		test.file("test2/"+name, clip(i%2))
		sample = append(sample, []string{name, "0"})
	}
	s.zip("train2.zip", train)
	s.zip("test2.zip", test)
	s.csv("sampleSubmission.csv", []string{"clip", "probability"}, sample)
}

// learnRightWhale classifies by the loudness in the middle of a clip.
func learnRightWhale(l *lesson) {
	loudness := func(data []byte) []float64 {
		sum := 0.0
		samples := samplesRightWhale(data)
		for _, v := range samples[len(samples)/4 : len(samples)*3/4] {
			sum += math.Abs(float64(v))
		}
		return []float64{math.Log(sum + 1)}
	}
	var x [][]float64
	var y []string
	tests := map[string][]float64{}
	eachClipRightWhale(l.file("train2.zip"), func(stem string, data []byte) {
		x, y = append(x, loudness(data)), append(y, stem[len(stem)-1:])
	})
	eachClipRightWhale(l.file("test2.zip"), func(stem string, data []byte) { tests[stem+".aif"] = loudness(data) })
	model := fitCentroids(x, y)
	l.submitLike("sampleSubmission.csv", []string{"probability"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(tests[r.get(i, "clip")], "1"), 6)}
	})
}

// eachClipRightWhale visits the clips of an archive, which has its folders as entries too.
func eachClipRightWhale(data []byte, visit func(stem string, data []byte)) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must(err)
	for _, f := range z.File {
		if stem, ok := strings.CutSuffix(path.Base(f.Name), ".aif"); ok {
			r, err := f.Open()
			must(err)
			clip, err := io.ReadAll(r)
			must(err)
			visit(stem, clip)
		}
	}
}
