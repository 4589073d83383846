package main

import (
	"fmt"
	"image/color"
)

// drawCassava draws photographs of leaves, as JPEG and once more in 16 record files: the
// color depends on the disease.
func drawCassava(s *set) {
	leaves := []color.RGBA{{130, 140, 60, 255}, {110, 110, 40, 255}, {150, 165, 90, 255}, {80, 125, 50, 255}, {60, 150, 70, 255}}
	photo := func(label int) []byte {
		c := leaves[label]
		vary := func(v uint8) uint8 { return clip(float64(v) + s.normal(0, 14)) }
		return jpegOf(s.picture(24, 18, color.RGBA{vary(c.R), vary(c.G), vary(c.B), 255}, 3))
	}
	var train [][]string
	for i := range 16 {
		n := 11
		if i == 15 {
			n = 8
		}
		var records []byte
		for range n {
			name := itoa(1000000+s.IntN(4_200_000_000)) + ".jpg"
			label := s.weighted(5, 10, 11, 61, 12)
			data := photo(label)
			s.file("train_images/"+name, data)
			records = append(records, recordTF(featureTF{name: "image", bytes: data}, featureTF{name: "image_name", bytes: []byte(name)}, featureTF{name: "target", integer: label})...)
			train = append(train, []string{name, itoa(label)})
		}
		s.file(fmt.Sprintf("train_tfrecords/ld_train%02d-%d.tfrec", i, n), records)
	}
	s.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
	s.csv("train.csv", []string{"image_id", "label"}, train)
	s.json("label_num_to_disease_map.json", map[string]string{
		"0": "Cassava Bacterial Blight (CBB)", "1": "Cassava Brown Streak Disease (CBSD)", "2": "Cassava Green Mottle (CGM)",
		"3": "Cassava Mosaic Disease (CMD)", "4": "Healthy",
	})
	hidden, data := itoa(1000000+s.IntN(4_200_000_000))+".jpg", photo(3)
	s.file("test_images/"+hidden, data)
	s.file("test_tfrecords/ld_test00-1.tfrec", recordTF(featureTF{name: "image", bytes: data}, featureTF{name: "image_name", bytes: []byte(hidden)}))
	s.csv("sample_submission.csv", []string{"image_id", "label"}, [][]string{{hidden, "4"}})
}

// learnCassava classifies by mean color.
func learnCassava(l *lesson) {
	l.classifyPictures("label", "label",
		func(r *rows, i int) []byte { return l.file("train_images/" + r.get(i, "image_id")) },
		func(r *rows, i int) []byte { return l.file("test_images/" + r.get(i, "image_id")) })
}
