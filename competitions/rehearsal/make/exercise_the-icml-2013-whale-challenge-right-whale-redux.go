package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
	"time"
)

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
		return aiffOf(2000, samples)
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
		samples := aiffSamples(data)
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
