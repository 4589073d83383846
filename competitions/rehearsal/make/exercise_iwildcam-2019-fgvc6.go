package main

import (
	"fmt"
	"image/color"
	"strings"
)

// colorsIwildcam2019 are the color of each class; class 0 is an empty picture.
var colorsIwildcam2019 = map[string]color.RGBA{
	"0": {110, 110, 110, 255}, "1": {190, 110, 90, 255}, "3": {90, 180, 90, 255}, "8": {90, 100, 190, 255},
	"13": {180, 180, 80, 255}, "16": {60, 60, 60, 255}, "19": {180, 90, 180, 255},
}

// drawIwildcam2019 draws pictures of camera traps: the animal decides the color.
func drawIwildcam2019(s *set) {
	header := strings.Split("category_id,date_captured,file_name,frame_num,id,location,rights_holder,seq_id,seq_num_frames,width,height", ",")
	uuid := func() string {
		return strings.Join([]string{s.hex(8), s.hex(4), "11e8-a6a3", s.hex(12)}, "-")
	}
	sequence := func(photos *set, location int) [][]string {
		class := []string{"0", "1", "3", "8", "13", "16", "19"}[s.weighted(8, 3, 2, 2, 2, 1, 3)]
		seq, frames := uuid(), 1+s.IntN(3)
		date := fmt.Sprintf("201%d-%02d-%02d %02d:%02d:", 1+s.IntN(4), 1+s.IntN(12), 1+s.IntN(28), s.IntN(24), s.IntN(60))
		holder := s.one("Ada Forester", "Ben Ranger")
		var rows [][]string
		for frame := range frames {
			id, c := uuid(), colorsIwildcam2019[class]
			shift := s.normal(0, 8)
			c = color.RGBA{clip(float64(c.R) + shift), clip(float64(c.G) + shift), clip(float64(c.B) + s.normal(0, 8)), 255}
			photos.file(id+".jpg", jpegOf(s.picture(16, 12, c, 3)))
			rows = append(rows, []string{
				class, date + fmt.Sprintf("%02d", 10+frame), id + ".jpg", itoa(frame + 1), id, itoa(location), holder, seq, itoa(frames),
				"1024", s.one("747", "768"),
			})
		}
		return rows
	}
	photos, tests := s.part(), s.part()
	var train, test, sample [][]string
	for location := range 24 {
		for range 2 {
			train = append(train, sequence(photos, 2+5*location)...)
		}
	}
	s.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
	for _, row := range append(sequence(tests, 130), sequence(tests, 133)...) {
		test = append(test, row[1:])
		sample = append(sample, []string{row[4], "0"})
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[1:], test)
	s.csv("sample_submission.csv", []string{"Id", "Category"}, sample)
	s.zip("train_images.zip", photos)
	s.zip("test_images.zip", tests)
}

// learnIwildcam2019 classifies by mean color.
func learnIwildcam2019(l *lesson) {
	l.classifyPictures("category_id", "Category",
		func(r *rows, i int) []byte { return l.member("train_images.zip", r.get(i, "id")+".jpg") },
		func(r *rows, i int) []byte { return l.member("test_images.zip", r.get(i, "Id")+".jpg") })
}
