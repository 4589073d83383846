package main

import (
	"image/color"
	"io/fs"
	"math"
	"strings"
)

var exercisesC = []exercise{
	{id: "learning-agency-lab-automated-essay-scoring-2", draw: drawEssays, learn: learnEssays},
	{id: "invasive-species-monitoring", draw: drawInvasive, learn: learnInvasive},
	{id: "plant-seedlings-classification", draw: drawSeedlings, learn: learnSeedlings},
}

// drawEssays draws essays whose score, from 1 to 6, depends on their length.
func drawEssays(s *set) {
	words := strings.Fields("many people think that driverless cars are good because they can help us but some of them may break on the road and students should know why it is important")
	header := []string{"essay_id", "full_text", "score"}
	var train [][]string
	for range 300 {
		score := 1 + s.weighted(7, 27, 36, 22, 6, 2)
		var text []string
		for range max(5, int(s.normal(float64(12*score), 4))) {
			text = append(text, s.one(words...))
		}
		train = append(train, []string{s.hex(7), strings.Join(text, " ") + ".", itoa(score)})
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[:2], [][]string{{s.hex(7), "many people think that cars are good."}})
	s.csv("sample_submission.csv", []string{"essay_id", "score"}, [][]string{{s.hex(7), "3"}})
}

// learnEssays predicts the score from the number of words.
func learnEssays(l *lesson) {
	train, test := l.rows("train.csv"), l.rows("test.csv")
	length := func(r *rows, i int) []float64 { return []float64{float64(len(strings.Fields(r.get(i, "full_text"))))} }
	model, score := train.regression("score", length), map[string]string{}
	for i := range test.len() {
		score[test.get(i, "essay_id")] = itoa(int(min(6, max(1, math.Round(model.predict(length(test, i)))))))
	}
	l.submitLike("sample_submission.csv", []string{"score"}, func(r *rows, i int) []string {
		return []string{score[r.get(i, "essay_id")]}
	})
}

// drawInvasive draws photographs: those with the invasive plant are bluer.
func drawInvasive(s *set) {
	header := []string{"name", "invasive"}
	photos, tests, labels, table := s.part(), s.part(), s.part(), [][]string{}
	photo := func(label int) []byte {
		c := color.RGBA{90, 110, uint8(80 + 15*label + s.IntN(20)), 255} //nolint:gosec // below 256
		return jpegOf(s.picture(32, 24, c, 6))
	}
	for i := range 120 {
		label := s.weighted(37, 63)
		photos.file("train/"+itoa(i+1)+".jpg", photo(label))
		table = append(table, []string{itoa(i + 1), itoa(label)})
	}
	sample := [][]string{}
	for i := range 8 {
		tests.file("test/"+itoa(i+1)+".jpg", photo(s.IntN(2)))
		sample = append(sample, []string{itoa(i + 1), "0.5"})
	}
	labels.csv("train_labels.csv", header, table)
	s.sevenZip("train.7z", photos)
	s.sevenZip("test.7z", tests)
	s.zip("train_labels.csv.zip", labels)
	samples := s.part()
	samples.csv("sample_submission.csv", header, sample)
	s.zip("sample_submission.csv.zip", samples)
}

// learnInvasive classifies by mean color.
func learnInvasive(l *lesson) {
	train := readRows(l.member("train_labels.csv.zip", "train_labels.csv"))
	model := train.classifier("invasive", func(r *rows, i int) []float64 {
		return colors(l.member("train.7z", "train/"+r.get(i, "name")+".jpg"))
	})
	out := readRows(l.member("sample_submission.csv.zip", "sample_submission.csv"))
	for i := range out.len() {
		out.cells[i][out.at("invasive")] = ftoa(model.probability(colors(l.member("test.7z", "test/"+out.get(i, "name")+".jpg")), "1"), 6)
	}
	l.submit(out.header, out.cells)
}

// drawSeedlings draws photographs of twelve species: the color depends on the species.
func drawSeedlings(s *set) {
	species := strings.Split("Black-grass,Charlock,Cleavers,Common Chickweed,Common wheat,Fat Hen,Loose Silky-bent,Maize,Scentless Mayweed,Shepherds Purse,Small-flowered Cranesbill,Sugar beet", ",")
	for k, name := range species {
		for range 10 + s.IntN(6) {
			c := color.RGBA{uint8(60 + 40*(k%3)), uint8(80 + 30*(k/3)), 60, 255} //nolint:gosec // below 256
			s.file("train/"+name+"/"+s.hex(9)+".png", pngOf(s.picture(16, 16, c, 5)))
		}
	}
	s.file("test/"+s.hex(9)+".png", pngOf(s.picture(16, 16, color.RGBA{90, 100, 60, 255}, 5)))
	s.csv("sample_submission.csv", []string{"file", "species"}, [][]string{{s.hex(9) + ".png", "Sugar beet"}})
}

// learnSeedlings classifies by mean color.
func learnSeedlings(l *lesson) {
	names, err := fs.Glob(l.public, "train/*/*.png")
	must(err)
	var x [][]float64
	var y []string
	for _, name := range names {
		x = append(x, colors(l.file(name)))
		y = append(y, strings.Split(name, "/")[1])
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"species"}, func(r *rows, i int) []string {
		return []string{model.class(colors(l.file("test/" + r.get(i, "file"))))}
	})
}
