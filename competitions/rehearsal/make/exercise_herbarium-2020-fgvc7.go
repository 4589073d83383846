package main

import (
	"bytes"
	"encoding/json"
	"image/color"
	"math"
)

// drawHerbarium2020 draws sheets with pressed plants: each species has a color of its own.
func drawHerbarium2020(s *set) {
	sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 10, 3, 7, 5}
	type object = map[string]any
	var annotations, images, categories, regions []object
	var species []int
	for k, n := range sizes {
		id := 1 + 2000*k + s.IntN(1900)
		categories = append(categories, object{"family": s.one("Asteraceae", "Fabaceae", "Poaceae", "Rosaceae"), "genus": s.one("Carex", "Salix", "Aster", "Rubus"), "id": id, "name": "Species " + s.one("alba", "montana", "vulgaris", "repens") + " " + itoa(id)})
		for range n {
			species = append(species, k)
		}
	}
	s.Shuffle(len(species), func(i, j int) { species[i], species[j] = species[j], species[i] })
	for i, name := range []string{"Quebec", "Québec", "Peru", "Brazil"} {
		regions = append(regions, object{"id": i, "name": name})
	}
	for i, k := range species {
		id, category := 437000+3*i, categories[k]["id"].(int)
		folder := "images/" + itoa(1000 + category/100)[1:] + "/" + itoa(100 + category%100)[1:]
		name := folder + "/" + itoa(id) + ".jpg"
		c := color.RGBA{uint8(60 + 50*(k%4) + s.IntN(20)), uint8(60 + 50*(k/4) + s.IntN(20)), 90, 255} //nolint:gosec // below 256
		s.file("nybg2020/train/"+name, jpegOf(s.picture(16, 24, c, 4)))
		images = append(images, object{"file_name": name, "height": 24, "id": id, "license": 0, "width": 16})
		annotations = append(annotations, object{"category_id": category, "id": id, "image_id": id, "region_id": s.IntN(4)})
	}
	info := object{"contributor": "New York Botanical Garden", "date_created": "2020/03/09", "description": "Drawn for a rehearsal", "url": "", "version": "1.0", "year": 2020}
	licenses := []object{{"id": 0, "name": "CC0", "url": ""}}
	s.json("nybg2020/test/metadata.json", object{"images": []object{{"file_name": "images/000/0.jpg", "height": 24, "id": "0", "license": 0, "width": 16}}, "info": info, "licenses": licenses})
	s.file("nybg2020/test/images/000/0.jpg", jpegOf(s.picture(16, 24, color.RGBA{90, 120, 90, 255}, 4)))
	s.csv("sample_submission.csv", []string{"Id", "Predicted"}, [][]string{{"0", "0"}})
	// The file has a letter in Latin-1, as the original is not valid UTF-8.
	part := s.part()
	part.json("m", object{"annotations": annotations, "categories": categories, "images": images, "info": info, "licenses": licenses, "regions": regions})
	s.file("nybg2020/train/metadata.json", bytes.ReplaceAll(part.files["m"], []byte("é"), []byte{0xE9}))
}

// learnHerbarium2020 classifies by mean color.
func learnHerbarium2020(l *lesson) {
	var meta struct {
		Annotations []struct {
			Category int `json:"category_id"`
		}
		Images []struct {
			Name string `json:"file_name"`
		}
	}
	must(json.Unmarshal(l.file("nybg2020/train/metadata.json"), &meta))
	var x [][]float64
	var y []string
	for i, img := range meta.Images {
		x = append(x, colors(l.file("nybg2020/train/" + img.Name))[:2])
		y = append(y, itoa(meta.Annotations[i].Category))
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"Predicted"}, func(r *rows, i int) []string {
		id := int(math.Round(r.number(i, "Id")))
		name := "nybg2020/test/images/" + itoa(1000 + id/1000)[1:] + "/" + itoa(id) + ".jpg"
		return []string{model.class(colors(l.file(name))[:2])}
	})
}
