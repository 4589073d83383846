package main

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
)

var algorithmsAlaska = []string{"JMiPOD", "JUNIWARD", "UERD"}

// drawAlaska draws photographs of 16×16 pixels, each as a cover and with a message by
// three algorithms: those with a message are rougher.
func drawAlaska(s *set) {
	photo := func(level, slope, noise float64) []byte {
		var b bytes.Buffer
		img := gray(16, 16, func(x, y int) float64 { return level + slope*float64(x+y) + s.normal(0, noise) })
		must(jpeg.Encode(&b, img, &jpeg.Options{Quality: 90}))
		return b.Bytes()
	}
	for i := range 60 {
		name := fmt.Sprintf("/%05d.jpg", i+1)
		level, slope := s.between(60, 140), s.between(-1.5, 1.5)
		s.file("Cover"+name, photo(level, slope, s.between(0.5, 3)))
		for k, algorithm := range algorithmsAlaska {
			s.file(algorithm+name, photo(level, slope, s.between(2, 5+float64(k))))
		}
	}
	var sample [][]string
	for i := range 6 {
		name := fmt.Sprintf("%04d.jpg", i+1)
		s.file("Test/"+name, photo(s.between(60, 140), 0, s.between(0.5, 6)))
		sample = append(sample, []string{name, "0.0"})
	}
	s.csv("sample_submission.csv", []string{"Id", "Label"}, sample)
}

// roughnessAlaska is the mean difference of neighboring pixels.
func roughnessAlaska(data []byte) []float64 {
	img, _, err := image.Decode(bytes.NewReader(data))
	must(err)
	var steps []float64
	for y := 1; y < img.Bounds().Dy(); y++ {
		for x := 1; x < img.Bounds().Dx(); x++ {
			a, _, _, _ := img.At(x-1, y).RGBA()
			b, _, _, _ := img.At(x, y).RGBA()
			steps = append(steps, math.Abs(float64(a>>8)-float64(b>>8)))
		}
	}
	return []float64{mean(steps)}
}

// learnAlaska classifies by roughness.
func learnAlaska(l *lesson) {
	var x [][]float64
	var y []string
	for i := range 36 {
		name := fmt.Sprintf("/%05d.jpg", i+1)
		x, y = append(x, roughnessAlaska(l.file("Cover"+name))), append(y, "0")
		for _, algorithm := range algorithmsAlaska {
			x, y = append(x, roughnessAlaska(l.file(algorithm+name))), append(y, "1")
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"Label"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(roughnessAlaska(l.file("Test/"+r.get(i, "Id"))), "1"), 6)}
	})
}
