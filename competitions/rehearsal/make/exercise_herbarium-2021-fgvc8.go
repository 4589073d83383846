package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// drawHerbarium21 draws sheets and their metadata: the plant's color depends on the
// species. A rare species has a single sheet.
func drawHerbarium21(s *set) {
	var annotations, images, categories, institutions, licenses, tests []any
	word := func(end string) string {
		return s.one("Ar", "Be", "Cas", "Dro", "Eu", "Phy", "Sti") + s.one("la", "mi", "ne", "ro", "so") + s.one("dend", "phor", "carp", "lep") + end
	}
	orders := []string{"Asterales", "Fabales", "Lamiales", "Poales"}
	category, tints := 0, tintsFor(20)
	for k, tint := range tints {
		categories = append(categories, ordered{"family", word("aceae"), "id", category, "name", word("um") + " " + strings.ToLower(word("ii")) + " (L.) A. Gray", "order", orders[k%4]})
		sheets := 1 + k%4
		if k%3 != 0 {
			sheets = 5 + s.IntN(5)
		}
		for range sheets {
			id := 50000 + s.IntN(1_950_000)
			name := fmt.Sprintf("images/%03d/%02d/%d.jpg", category/100, category%100, id)
			annotations = append(annotations, ordered{"category_id", category, "id", id, "image_id", id, "institution_id", s.IntN(5)})
			images = append(images, ordered{"file_name", name, "height", 36, "id", id, "license", s.IntN(3), "width", 24})
			s.file("train/"+name, jpegOf(s.picture(24, 36, s.near(tint), 3)))
		}
		category += 1 + s.IntN(6500)
	}
	for i := range 3 {
		name := fmt.Sprintf("images/000/%d.jpg", i)
		tests = append(tests, ordered{"file_name", name, "height", 36, "id", itoa(i), "license", 0, "width", 24})
		s.file("test/"+name, jpegOf(s.picture(24, 36, tints[i], 3)))
		licenses = append(licenses, ordered{"id", i, "name", "License " + itoa(i), "url", "https://example.org/licenses/" + itoa(i)})
	}
	for i, name := range strings.Fields("AB CDE FGH IJ KL") {
		institutions = append(institutions, ordered{"id", i, "name", "Herbarium " + name})
	}
	info := ordered{"contributor", "Herbaria", "date_created", "2021-03-01", "description", "Drawn sheets", "url", "https://example.org", "version", "1.0", "year", 2021}
	// The annotations stand in the order of the images, which is not that of the species.
	s.Shuffle(len(images), func(i, j int) {
		images[i], images[j] = images[j], images[i]
		annotations[i], annotations[j] = annotations[j], annotations[i]
	})
	s.json("train/metadata.json", ordered{"annotations", annotations, "categories", categories, "images", images, "info", info, "institutions", institutions, "licenses", licenses})
	s.json("test/metadata.json", ordered{"images", tests, "info", info, "licenses", licenses})
	s.csv("sample_submission.csv", []string{"Id", "Predicted"}, [][]string{{"0", "1"}, {"1", "27"}, {"2", "42"}})
}

// learnHerbarium21 classifies by mean color.
func learnHerbarium21(l *lesson) {
	var train, test coco
	must(json.Unmarshal(l.file("train/metadata.json"), &train))
	must(json.Unmarshal(l.file("test/metadata.json"), &test))
	l.classifyCOCO(train, test,
		func(name string) []byte { return l.file("train/" + name) },
		func(name string) []byte { return l.file("test/" + name) },
		"sample_submission.csv", "Id", "Predicted")
}
