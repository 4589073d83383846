package main

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// drawINat19 draws photographs of a category's color, packed in one archive, with those
// of the validation set.
func drawINat19(s *set) {
	groups := []string{"Amphibians", "Birds", "Fungi", "Insects", "Plants", "Reptiles"}
	tints, photos, next := tintsFor(14), s.part(), 0
	var categories, licenses []any
	for k := range tints {
		categories = append(categories, ordered{"id", k * 70, "name", itoa(k * 70)})
	}
	for i := range 7 {
		licenses = append(licenses, ordered{"id", i + 1, "name", "License " + itoa(i+1), "url", "http://example.org/licenses/" + itoa(i+1)})
	}
	info := ordered{"description", "iNaturalist 2019 rehearsal", "contributor", "mleflow", "url", "", "version", "1.0", "year", 2019, "date_created", "2019-03-01 00:00:00"}
	index := func(count func() int) ordered {
		var images, annotations []any
		for k, tint := range tints {
			for range count() {
				name := fmt.Sprintf("train_val2019/%s/%d/%s.jpg", groups[k%len(groups)], k*70, s.hex(32))
				images = append(images, ordered{"id", next, "file_name", name, "license", 1 + s.IntN(7), "rights_holder", s.one("Zoë", "Jo", "Kim", "An") + " " + s.one("B.", "Field", "Wood"), "width", 36, "height", 27})
				annotations = append(annotations, ordered{"id", next, "image_id", next, "category_id", k * 70})
				photos.file(name, jpegOf(s.picture(36, 27, s.near(tint), 4)))
				next++
			}
		}
		return ordered{"info", info, "images", images, "licenses", licenses, "annotations", annotations, "categories", categories}
	}
	s.json("train2019.json", index(func() int { return 3 + s.weighted(1, 1, 1, 0, 2, 2, 2, 1, 1) }))
	s.json("val2019.json", index(func() int { return 1 }))
	s.tarGz("train_val2019.tar.gz", photos)
	tests, images, sample := s.part(), []any{}, [][]string{}
	for k := range 4 {
		name := "test2019/" + s.hex(32) + ".jpg"
		images = append(images, ordered{"id", next + k, "file_name", name, "license", 1, "rights_holder", "An Field", "width", 36, "height", 27})
		tests.file(name, jpegOf(s.picture(36, 27, tints[k], 4)))
		sample = append(sample, []string{itoa(next + k), itoa(s.IntN(1010))})
	}
	s.json("test2019.json", ordered{"info", info, "images", images, "licenses", licenses})
	s.tarGz("test2019.tar.gz", tests)
	s.csv("kaggle_sample_submission.csv", []string{"id", "predicted"}, sample)
}

// learnINat19 classifies by mean color. The public archives are not compressed.
func learnINat19(l *lesson) {
	var train, test coco
	must(json.Unmarshal(l.file("train2019.json"), &train))
	must(json.Unmarshal(l.file("test2019.json"), &test))
	trains, tests := unpacked("train.tar", l.file("train_val2019.tar.gz")), unpacked("test.tar", l.file("test2019.tar.gz"))
	l.classifyCOCO(train, test,
		func(name string) []byte { return trains[strings.TrimPrefix(name, "train_val2019/")] },
		func(name string) []byte { return tests[path.Base(name)] },
		"kaggle_sample_submission.csv", "id", "predicted")
}
