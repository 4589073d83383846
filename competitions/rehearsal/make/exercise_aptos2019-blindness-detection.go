package main

import (
	"bytes"
	"image"
	"image/color"
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
