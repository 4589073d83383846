package main

import (
	"io/fs"
	"math"
	"path"
	"strings"
)

var wordsSpeechRecognition = strings.Fields(`bed bird cat dog down eight five four go happy house left marvin nine no off on
one right seven sheila six stop three tree two up wow yes zero`)

// toneSpeechRecognition draws a short clip of a tone with a period in samples.
func toneSpeechRecognition(s *set, period, length int, loud float64) []byte {
	samples := make([]int16, length)
	phase := s.IntN(period)
	for i := range samples {
		samples[i] = int16(loud * math.Sin(2*math.Pi*float64((i+phase)%period)/float64(period)))
	}
	return wavOf(16000, samples)
}

// drawSpeechRecognition draws clips: each word has a pitch of its own.
func drawSpeechRecognition(s *set) {
	train, test, sample := s.part(), s.part(), s.part()
	speakers := make([]string, 24)
	for i := range speakers {
		speakers[i] = s.hex(8)
	}
	var tests, validation []string
	for k, word := range wordsSpeechRecognition {
		for i := range 6 {
			name := word + "/" + speakers[(5*k+7*i)%len(speakers)] + "_nohash_" + itoa(i%2) + ".wav"
			train.file("train/audio/"+name, toneSpeechRecognition(s, 8+2*k, 800, float64(1000*(2+s.IntN(5)))))
			if i == 0 {
				tests = append(tests, name)
			} else if i == 1 {
				validation = append(validation, name)
			}
		}
	}
	for name := range strings.FieldsSeq("doing_the_dishes dude_miaowing exercise_bike pink_noise running_tap white_noise") {
		train.file("train/audio/_background_noise_/"+name+".wav", toneSpeechRecognition(s, 200, 2400, 300))
	}
	train.file("train/audio/_background_noise_/README.md", []byte("Longer recordings without words.\n"))
	train.file("train/LICENSE", []byte("Drawn for a rehearsal.\n"))
	train.file("train/README.md", []byte("Tones in place of words.\n"))
	train.file("train/testing_list.txt", []byte(strings.Join(tests, "\n")+"\n"))
	train.file("train/validation_list.txt", []byte(strings.Join(validation, "\n")+"\n"))
	var rows [][]string
	for range 5 {
		name := "clip_" + s.hex(9) + ".wav"
		test.file("test/audio/"+name, toneSpeechRecognition(s, 8+2*s.IntN(30), 800, 3000))
		rows = append(rows, []string{name, "silence"})
	}
	sample.csv("sample_submission.csv", []string{"fname", "label"}, rows)
	s.sevenZip("train.7z", train)
	s.sevenZip("test.7z", test)
	s.sevenZip("sample_submission.7z", sample)
	s.file("link_to_gcp_credits_form.txt", []byte("https://example.com/\n"))
}

// learnSpeechRecognition classifies by how often the sound changes its sign.
func learnSpeechRecognition(l *lesson) {
	features := func(name string) []float64 {
		samples := wavSamples(l.file(name))
		crossings := 1.0
		for i := 1; i < len(samples); i++ {
			if samples[i] >= 0 != (samples[i-1] >= 0) {
				crossings++
			}
		}
		return []float64{math.Log(crossings / float64(len(samples)))}
	}
	names, err := fs.Glob(l.public, "train/audio/*/*.wav")
	must(err)
	var x [][]float64
	var y []string
	for _, name := range names {
		x = append(x, features(name))
		y = append(y, path.Base(path.Dir(name)))
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"label"}, func(r *rows, i int) []string {
		return []string{model.class(features("test/audio/" + r.get(i, "fname")))}
	})
}
