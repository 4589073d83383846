package main

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"strings"
)

// drawTgs draws seismic images of 101×101 pixels: salt is brighter than the layers
// above it.
func drawTgs(s *set) {
	const side = 101
	inside := s.part()
	var masks, depths, sample [][]string
	for i := range 52 {
		id, level := s.hex(10), s.between(70, 95)
		period := s.between(8, 16)
		top, slope := s.between(15, 70), s.between(-0.4, 0.4)
		salt := s.weighted(2, 3) == 1
		within := func(x, y int) bool { return salt && float64(y) > top+slope*float64(x) }
		img := image.NewRGBA(image.Rect(0, 0, side, side))
		mask := image.NewGray16(img.Rect)
		runs, run := []string{}, 0
		for x := range side {
			for y := range side {
				v := clip(level + 6*math.Sin(float64(y)/period))
				if within(x, y) {
					v = clip(level + 60)
					mask.SetGray16(x, y, color.Gray16{0xffff})
				}
				img.SetRGBA(x, y, color.RGBA{v, v, v, 255})
				if within(x, y) {
					run++
				}
				if run > 0 && (!within(x, y) || y == side-1 && x == side-1) {
					end := side*x + y
					if within(x, y) {
						end++
					}
					runs = append(runs, itoa(end-run+1)+" "+itoa(run))
					run = 0
				}
			}
		}
		depths = append(depths, []string{id, itoa(50 + s.IntN(910))})
		if i >= 48 {
			inside.file("competition_data/test/images/"+id+".png", pngOf(img))
			sample = append(sample, []string{id, "1 1"})
			continue
		}
		inside.file("competition_data/train/images/"+id+".png", pngOf(img))
		inside.file("competition_data/train/masks/"+id+".png", pngOf(mask))
		masks = append(masks, []string{id, strings.Join(runs, " ")})
	}
	inside.csv("competition_data/train.csv", []string{"id", "rle_mask"}, masks)
	s.csv("train.csv", []string{"id", "rle_mask"}, masks)
	s.csv("depths.csv", []string{"id", "z"}, depths)
	s.csv("sample_submission.csv", []string{"id", "rle_mask"}, sample)
	s.zip("competition_data.zip", inside)
}

// levelsTgs returns the gray levels of a PNG, column by column.
func levelsTgs(data []byte) (levels []float64) {
	img, _, err := image.Decode(bytes.NewReader(data))
	must(err)
	for x := range img.Bounds().Dx() {
		for y := range img.Bounds().Dy() {
			r, _, _, _ := img.At(x, y).RGBA()
			levels = append(levels, float64(r>>8))
		}
	}
	return levels
}

// learnTgs takes the pixels as salt that are nearer to the mean level of salt than to
// that of other pixels.
func learnTgs(l *lesson) {
	train := l.rows("train.csv")
	var salt, other []float64
	for i := range train.len() {
		id := train.get(i, "id")
		mask := levelsTgs(l.file("train/masks/" + id + ".png"))
		for k, v := range levelsTgs(l.file("train/images/" + id + ".png")) {
			if mask[k] > 0 {
				salt = append(salt, v)
			} else {
				other = append(other, v)
			}
		}
	}
	threshold := (mean(salt) + mean(other)) / 2
	l.submitLike("sample_submission.csv", []string{"rle_mask"}, func(r *rows, i int) []string {
		var runs []string
		run := 0
		levels := append(levelsTgs(l.file("test/images/"+r.get(i, "id")+".png")), 0)
		for k, v := range levels {
			if v > threshold {
				run++
			} else if run > 0 {
				runs, run = append(runs, itoa(k-run+1)+" "+itoa(run)), 0
			}
		}
		return []string{strings.Join(runs, " ")}
	})
}
