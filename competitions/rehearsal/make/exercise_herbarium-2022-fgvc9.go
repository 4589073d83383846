package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// drawHerbarium22 draws sheets with a plant of a category's color, and their metadata.
func drawHerbarium22(s *set) {
	const genera = 6
	var annotations, images, categories, names, distances, tests []any
	syllables := func(end string) string {
		return s.one("Al", "Cor", "Ver", "Lin", "Sal") + s.one("bi", "no", "ta", "ru") + s.one("ca", "me", "li") + end
	}
	for i := range genera {
		names = append(names, ordered{"genus_id", i, "genus", syllables("a")})
		for j := range i {
			distances = append(distances, ordered{"genus_id_x", j, "genus_id_y", i, "distance", s.between(20, 400)})
		}
	}
	category, tints := 0, tintsFor(14)
	for k, tint := range tints {
		genus := k * genera / len(tints)
		species := strings.ToLower(syllables("ë"))
		categories = append(categories, ordered{"category_id", category, "scientificName", "Genus " + species + " L.", "family", "Familia " + itoa(genus/2),
			"genus", names[genus].(ordered)[3], "species", species, "authors", "L."})
		for i := range 5 + s.IntN(6) {
			id := fmt.Sprintf("%05d__%03d", category, i+1)
			name := fmt.Sprintf("%03d/%02d/%s.jpg", category/100, category%100, id)
			annotations = append(annotations, ordered{"genus_id", genus, "institution_id", s.IntN(5), "category_id", category, "image_id", id})
			images = append(images, ordered{"image_id", id, "file_name", name, "license", s.IntN(3)})
			s.file("train_images/"+name, jpegOf(s.picture(24, 36, s.near(tint), 4)))
		}
		category += 1 + s.IntN(1900)
	}
	for i := range 4 {
		name := fmt.Sprintf("000/test-%06d.jpg", i)
		tests = append(tests, ordered{"image_id", itoa(i), "file_name", name, "license", 0})
		s.file("test_images/"+name, jpegOf(s.picture(24, 36, tints[i], 4)))
	}
	var licenses, institutions []any
	for i := range 3 {
		licenses = append(licenses, ordered{"id", i, "name", "License " + itoa(i), "url", "https://example.org/licenses/" + itoa(i)})
	}
	for i := range 5 {
		institutions = append(institutions, ordered{"institution_id", i, "collectionCode", strings.ToUpper(s.one("ab", "cd", "ny", "us")) + itoa(i)})
	}
	s.json("train_metadata.json", ordered{"annotations", annotations, "images", images, "categories", categories, "genera", names,
		"distances", distances, "licenses", licenses, "institutions", institutions})
	s.json("test_metadata.json", tests)
	s.csv("sample_submission.csv", []string{"Id", "Predicted"}, [][]string{{"0", "42"}, {"1", "42"}, {"2", "42"}, {"3", "42"}})
}

// learnHerbarium22 classifies by mean color.
func learnHerbarium22(l *lesson) {
	var train, test coco
	must(json.Unmarshal(l.file("train_metadata.json"), &train))
	must(json.Unmarshal(l.file("test_metadata.json"), &test.Images))
	l.classifyCOCO(train, test,
		func(name string) []byte { return l.file("train_images/" + name) },
		func(name string) []byte { return l.file("test_images/" + name) },
		"sample_submission.csv", "Id", "Predicted")
}
