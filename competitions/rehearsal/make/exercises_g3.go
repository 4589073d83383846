package main

import (
	"bytes"
	"image/color"
	"image/jpeg"
	"maps"
	"math"
	"slices"
	"strings"
)

// wordsMovieReview classifies texts by counts of words (naive Bayes).
type wordsMovieReview struct {
	texts  map[string]float64
	counts map[string]map[string]float64
	sums   map[string]float64
	known  map[string]bool
}

func splitMovieReview(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '\'') })
}

func fitWordsMovieReview(texts, labels []string) *wordsMovieReview {
	m := &wordsMovieReview{map[string]float64{}, map[string]map[string]float64{}, map[string]float64{}, map[string]bool{}}
	for i, text := range texts {
		label := labels[i]
		m.texts[label]++
		if m.counts[label] == nil {
			m.counts[label] = map[string]float64{}
		}
		for _, w := range splitMovieReview(text) {
			m.counts[label][w]++
			m.sums[label]++
			m.known[w] = true
		}
	}
	return m
}

func (m *wordsMovieReview) class(text string) string {
	best, top := "", math.Inf(-1)
	for _, label := range slices.Sorted(maps.Keys(m.texts)) {
		score := math.Log(m.texts[label])
		for _, w := range splitMovieReview(text) {
			if m.known[w] {
				score += math.Log((m.counts[label][w] + 0.5) / (m.sums[label] + 0.5*float64(len(m.known))))
			}
		}
		if score > top {
			best, top = label, score
		}
	}
	return best
}

// drawMovieReview draws sentences and phrases of them: sentiment depends on kind and
// unkind words.
func drawMovieReview(s *set) {
	var train, test [][]string
	phrase := 0
	sentence := func(id int, to *[][]string) {
		var words []string
		for range 5 + s.IntN(6) {
			switch s.weighted(6, 1, 1) {
			case 0:
				words = append(words, s.one("the", "film", "a", "of", "plot", "with", "story", "and", "its", "director", "is", "scenes", "camera", ",", "that", "'s"))
			case 1:
				words = append(words, s.one("wonderful", "charming", "funny", "brilliant"))
			default:
				words = append(words, s.one("dull", "tedious", "mess", "awful"))
			}
		}
		for lo, hi := 0, len(words); hi-lo > 0 && lo < len(words); {
			phrase++
			text, score := strings.Join(words[lo:hi], " "), 2
			for _, w := range words[lo:hi] {
				if slices.Contains([]string{"wonderful", "charming", "funny", "brilliant"}, w) {
					score++
				} else if slices.Contains([]string{"dull", "tedious", "mess", "awful"}, w) {
					score--
				}
			}
			*to = append(*to, []string{itoa(phrase), itoa(id), text, itoa(min(4, max(0, score)))})
			if s.IntN(2) == 0 {
				hi -= 1 + s.IntN(3)
			} else {
				lo += 1 + s.IntN(3)
			}
		}
	}
	for id := 1; id <= 90; id++ {
		sentence(id, &train)
	}
	train = append(train, []string{itoa(phrase + 1), "91", "None", "2"}, []string{itoa(phrase + 2), "91", "null", "2"})
	phrase += 2
	for id := 92; id <= 96; id++ {
		sentence(id, &test)
	}
	tsv := func(header []string, rows [][]string) *set {
		lines := []string{strings.Join(header, "\t")}
		for _, row := range rows {
			lines = append(lines, strings.Join(row[:len(header)], "\t"))
		}
		inside := s.part()
		inside.file(map[int]string{3: "test.tsv", 4: "train.tsv"}[len(header)], []byte(strings.Join(lines, "\n")+"\n"))
		return inside
	}
	s.zip("train.tsv.zip", tsv([]string{"PhraseId", "SentenceId", "Phrase", "Sentiment"}, train))
	s.zip("test.tsv.zip", tsv([]string{"PhraseId", "SentenceId", "Phrase"}, test))
	var sample [][]string
	for _, row := range test {
		sample = append(sample, []string{row[0], "2"})
	}
	s.csv("sampleSubmission.csv", []string{"PhraseId", "Sentiment"}, sample)
}

// learnMovieReview counts words in phrases of each sentiment.
func learnMovieReview(l *lesson) {
	read := func(name string) [][]string {
		var out [][]string
		for line := range strings.Lines(string(l.member(name+".zip", name))) {
			out = append(out, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
		return out[1:]
	}
	var texts, labels []string
	for _, row := range read("train.tsv") {
		texts, labels = append(texts, row[2]), append(labels, row[3])
	}
	model, test := fitWordsMovieReview(texts, labels), map[string]string{}
	for _, row := range read("test.tsv") {
		test[row[0]] = row[2]
	}
	l.submitLike("sampleSubmission.csv", []string{"Sentiment"}, func(r *rows, i int) []string {
		return []string{model.class(test[r.get(i, "PhraseId")])}
	})
}

var flagsPawpularity = []string{"Subject Focus", "Eyes", "Face", "Near", "Action", "Accessory", "Group", "Collage", "Human", "Occlusion", "Info", "Blur"}

// drawPawpularity draws photographs and facts: popularity depends on the brightness, a
// visible face and blur.
func drawPawpularity(s *set) {
	draw := func() (flags []string, photo []byte, score int) {
		bright := s.between(60, 200)
		popular := 10 + (bright-60)/4 + s.normal(0, 6)
		for _, name := range flagsPawpularity {
			often := map[string]float64{"Eyes": 0.8, "Face": 0.9, "Near": 0.86}[name]
			flag := s.weighted(1-max(0.07, often), max(0.07, often))
			popular += float64(flag) * map[string]float64{"Face": 12, "Blur": -8}[name]
			flags = append(flags, itoa(flag))
		}
		c := color.RGBA{clip(bright + 10), clip(bright), clip(bright - 20), 255}
		return flags, jpegOf(s.picture(24, 24+s.IntN(8), c, 5)), int(min(100, max(1, popular)))
	}
	header := append([]string{"Id"}, flagsPawpularity...)
	var train, test, sample [][]string
	for range 160 {
		id := s.hex(32)
		flags, photo, score := draw()
		s.file("train/"+id+".jpg", photo)
		train = append(train, append(append([]string{id}, flags...), itoa(score)))
	}
	for range 8 {
		id := s.hex(32)
		flags, photo, _ := draw()
		s.file("test/"+id+".jpg", photo)
		test = append(test, append([]string{id}, flags...))
		sample = append(sample, []string{id, ftoa(s.between(1, 100), 2)})
	}
	s.csv("train.csv", append(slices.Clone(header), "Pawpularity"), train)
	s.csv("test.csv", header, test)
	s.csv("sample_submission.csv", []string{"Id", "Pawpularity"}, sample)
}

// learnPawpularity regresses popularity on the facts and the mean color.
func learnPawpularity(l *lesson) {
	features := func(r *rows, i int, folder string) []float64 {
		x := colors(l.file(folder + "/" + r.get(i, "Id") + ".jpg"))
		for _, name := range flagsPawpularity {
			x = append(x, r.number(i, name))
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model := train.regression("Pawpularity", func(r *rows, i int) []float64 { return features(r, i, "train") })
	l.submitLike("sample_submission.csv", []string{"Pawpularity"}, func(_ *rows, i int) []string {
		return []string{ftoa(min(100, max(1, model.predict(features(test, i, "test")))), 4)}
	})
}

var findingsRanzcr = []string{
	"ETT - Abnormal", "ETT - Borderline", "ETT - Normal", "NGT - Abnormal", "NGT - Borderline",
	"NGT - Incompletely Imaged", "NGT - Normal", "CVC - Abnormal", "CVC - Borderline", "CVC - Normal",
	"Swan Ganz Catheter Present",
}

// drawRanzcr draws X-rays: each finding brightens a band of rows.
func drawRanzcr(s *set) {
	draw := func(folder string) (string, []int) {
		id := "1.2.826.0.1.3680043.8.498."
		for range 38 {
			id += itoa(1 + s.IntN(9))
		}
		found := make([]int, len(findingsRanzcr))
		for k := range found {
			found[k] = s.weighted(4, 1)
		}
		found[9] = s.weighted(1, 2) // most have a normal one
		shade := s.between(60, 90)
		s.file(folder+id+".jpg", jpegOf(gray(16, 8*len(found), func(x, y int) float64 {
			return shade + float64(30*found[y/8]) + float64(x) + s.normal(0, 3)
		})))
		return id, found
	}
	var train, annotations, sample [][]string
	for n := range 220 {
		id, found := draw("train/")
		row := []string{id}
		for k, v := range found {
			row = append(row, itoa(v))
			if v == 1 && n%3 == 0 {
				annotations = append(annotations, []string{id, findingsRanzcr[k], "[[" + itoa(s.IntN(16)) + ", " + itoa(8*k) + "], [" + itoa(s.IntN(16)) + ", " + itoa(8*k+7) + "]]"})
			}
		}
		train = append(train, append(row, "b"+s.hex(8)))
	}
	for range 6 {
		id, _ := draw("test/")
		sample = append(sample, append([]string{id}, strings.Split(strings.Repeat("0", len(findingsRanzcr)), "")...))
	}
	header := append([]string{"StudyInstanceUID"}, findingsRanzcr...)
	s.csv("train.csv", append(slices.Clone(header), "PatientID"), train)
	s.csv("train_annotations.csv", []string{"StudyInstanceUID", "label", "data"}, annotations)
	s.csv("sample_submission.csv", header, sample)
}

// learnRanzcr regresses each finding on the brightness of bands of rows.
func learnRanzcr(l *lesson) {
	features := func(folder, id string) []float64 {
		img, err := jpeg.Decode(bytes.NewReader(l.file(folder + "/" + id + ".jpg")))
		must(err)
		bands := make([]float64, img.Bounds().Dy()/8)
		for y := range 8 * len(bands) {
			for x := range img.Bounds().Dx() {
				bands[y/8] += float64(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y) / 128
			}
		}
		return bands
	}
	train := l.rows("train.csv")
	var x [][]float64
	for i := range train.len() {
		x = append(x, features("train", train.get(i, "StudyInstanceUID")))
	}
	graded := l.rows("sample_submission.csv").header[1:]
	models := make([]linear, len(graded))
	for k, name := range graded {
		var y []float64
		for i := range train.len() {
			y = append(y, train.number(i, name))
		}
		models[k] = fitLinear(x, y)
	}
	l.submitLike("sample_submission.csv", graded, func(r *rows, i int) []string {
		row, out := features("test", r.get(i, "StudyInstanceUID")), []string{}
		for _, model := range models {
			out = append(out, ftoa(min(1, max(0, model.predict(row))), 5))
		}
		return out
	})
}
