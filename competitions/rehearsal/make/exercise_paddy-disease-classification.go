package main

import (
	"slices"
)

var diseasesPaddy = []string{
	"bacterial_leaf_blight", "bacterial_leaf_streak", "bacterial_panicle_blight", "blast", "brown_spot", "dead_heart", "downy_mildew",
	"hispa", "normal", "tungro",
}

// drawPaddy draws photographs of leaves: the disease decides the color.
func drawPaddy(s *set) {
	const images = 170
	kinds, ids := make([]int, images), s.Perm(images)
	for i := range kinds {
		kinds[i] = s.weighted(48, 38, 34, 174, 97, 144, 62, 159, 176, 109)
	}
	slices.Sort(kinds)
	tints, train := tintsFor(len(diseasesPaddy)), [][]string{}
	for i, kind := range kinds {
		name, label := itoa(100001+ids[i])+".jpg", diseasesPaddy[kind]
		variety := []string{"ADT45", "KarnatakaPonni", "Ponni", "Surya", "Zonal", "AndraPonni", "AtchayaPonni", "IR20", "RR", "Onthanel"}[s.weighted(67, 10, 6, 1, 4, 4, 5, 1, 1, 3)]
		train = append(train, []string{name, label, variety, itoa(45 + s.IntN(38))})
		s.file("train_images/"+label+"/"+name, jpegOf(s.picture(18, 24, s.near(tints[kind]), 4)))
	}
	var sample [][]string
	for i := range 4 {
		name := itoa(200001+i) + ".jpg"
		s.file("test_images/"+name, jpegOf(s.picture(18, 24, s.near(tints[3+2*i]), 4)))
		sample = append(sample, []string{name, ""})
	}
	s.csv("train.csv", []string{"image_id", "label", "variety", "age"}, train)
	s.csv("sample_submission.csv", []string{"image_id", "label"}, sample)
}

// learnPaddy classifies by mean color.
func learnPaddy(l *lesson) {
	l.classifyPictures("label", "label",
		func(r *rows, i int) []byte {
			return l.file("train_images/" + r.get(i, "label") + "/" + r.get(i, "image_id"))
		},
		func(r *rows, i int) []byte { return l.file("test_images/" + r.get(i, "image_id")) })
}
