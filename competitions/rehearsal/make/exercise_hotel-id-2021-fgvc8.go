package main

import (
	"fmt"
	"slices"
	"strings"
)

// drawHotel draws photographs of rooms: the hotel decides the color, but one in ten has
// that of another. One photograph is there twice.
func drawHotel(s *set) {
	ids, chains, seen := []string{"18807", "64314"}, []string{"0", "0"}, map[string]bool{}
	for len(ids) < 16 {
		if id := itoa(s.IntN(64000)); !seen[id] {
			seen[id] = true
			ids, chains = append(ids, id), append(chains, s.one("0", "1", "2", "3", "5", "12", "87", "91"))
		}
	}
	tints := tintsFor(len(ids))
	row := func(name string) []string {
		k := min(s.IntN(len(ids)), s.IntN(len(ids)+6))
		time := fmt.Sprintf("20%d-%02d-%02d %02d:%02d:%02d", 15+s.IntN(5), 1+s.IntN(12), 1+s.IntN(28), s.IntN(24), s.IntN(60), s.IntN(60))
		file := "train_images/" + chains[k] + "/" + name
		if s.files[file] == nil {
			shown := k
			if s.IntN(10) == 0 {
				shown = s.IntN(len(ids))
			}
			s.file(file, jpegOf(s.picture(20, 16, s.near(tints[shown]), 3)))
		}
		return []string{name, chains[k], ids[k], time}
	}
	var train [][]string
	for range 150 {
		train = append(train, row(s.hex(16)+".jpg"))
	}
	train = append(train, row("ce27d36c9147cc19.jpg"), row("ce27d36c9147cc19.jpg"))
	slices.SortFunc(train, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	name := s.hex(16) + ".jpg"
	s.file("test_images/"+name, jpegOf(s.picture(20, 16, tints[0], 3)))
	s.csv("train.csv", []string{"image", "chain", "hotel_id", "timestamp"}, train)
	s.csv("sample_submission.csv", []string{"image", "hotel_id"}, [][]string{{name, "36363 53586 18807 64314 60181"}})
}

// learnHotel ranks the hotels by mean color.
func learnHotel(l *lesson) {
	model := l.rows("train.csv").classifier("hotel_id", func(r *rows, i int) []float64 {
		return colors(l.file("train_images/" + r.get(i, "chain") + "/" + r.get(i, "image")))
	})
	l.submitLike("sample_submission.csv", []string{"hotel_id"}, func(r *rows, i int) []string {
		best := model.ranked(colors(l.file("test_images/" + r.get(i, "image"))))
		return []string{strings.Join(best[:5], " ")}
	})
}
