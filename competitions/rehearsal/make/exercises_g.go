package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"math"
	"strings"
)

var exercisesG = []exercise{
	{id: "bms-molecular-translation", draw: drawBms, learn: learnBms},
	{id: "dog-breed-identification", draw: drawDogBreed, learn: learnDogBreed},
	{id: "herbarium-2020-fgvc7", draw: drawHerbarium2020, learn: learnHerbarium2020},
	{id: "icecube-neutrinos-in-deep-ice", draw: drawIcecube, learn: learnIcecube},
	{id: "jigsaw-unintended-bias-in-toxicity-classification", draw: drawUnintendedBias, learn: learnUnintendedBias},
	{id: "movie-review-sentiment-analysis-kernels-only", draw: drawMovieReview, learn: learnMovieReview},
	{id: "petfinder-pawpularity-score", draw: drawPawpularity, learn: learnPawpularity},
	{id: "ranzcr-clip-catheter-line-classification", draw: drawRanzcr, learn: learnRanzcr},
	{id: "smartphone-decimeter-2022", draw: drawSmartphone2022, learn: learnSmartphone2022},
	{id: "tensorflow-speech-recognition-challenge", draw: drawSpeechRecognition, learn: learnSpeechRecognition},
	{id: "us-patent-phrase-to-phrase-matching", draw: drawPatentPhrase, learn: learnPatentPhrase},
}

// inchiBms names a straight chain of n carbon atoms that ends in a kind of group: none,
// an alcohol or an amine.
func inchiBms(n, kind int) string {
	var chain []string
	if kind > 0 {
		for i := 1; i <= n+1; i++ {
			chain = append(chain, itoa(i))
		}
		joined := strings.Join(chain, "-")
		if kind == 1 {
			return "InChI=1S/C" + itoa(n) + "H" + itoa(2*n+2) + "O/c" + joined + "/h" + itoa(n+1) + "H,2-" + itoa(n) + "H2,1H3"
		}
		return "InChI=1S/C" + itoa(n) + "H" + itoa(2*n+3) + "N/c" + joined + "/h2-" + itoa(n+1) + "H2,1H3"
	}
	for i := 1; i <= n; i += 2 {
		chain = append(chain, itoa(i))
	}
	for i := n - n%2; i >= 2; i -= 2 {
		chain = append(chain, itoa(i))
	}
	return "InChI=1S/C" + itoa(n) + "H" + itoa(2*n+2) + "/c" + strings.Join(chain, "-") + "/h3-" + itoa(n) + "H2,1-2H3"
}

// pictureBms draws a zigzag of n-1 bonds in black on white with a few black specks, the
// group as a ring or a block at its end; some pictures are upright.
func pictureBms(s *set, n, kind int) image.Image {
	width, height, upright := 10+6*n, 16, s.IntN(6) == 0
	specks := map[[2]int]bool{}
	for range s.IntN(4) {
		specks[[2]int{s.IntN(width), s.IntN(height)}] = true
	}
	at := func(x, y int) float64 {
		step := x % 12
		line := 5 + min(step, 12-step)
		edge := 2 + 6*(n-1)
		ring := x >= edge && x < edge+6 && y >= 5 && y < 11 && kind > 0 && (kind == 2 || x == edge || x == edge+5 || y == 5 || y == 10)
		if ring || specks[[2]int{x, y}] || x >= 2 && x < edge && y == line {
			return 0
		}
		return 255
	}
	if upright {
		return gray(height, width, func(x, y int) float64 { return at(y, x) })
	}
	return gray(width, height, at)
}

// drawBms draws pictures of molecules: the length of the zigzag and the shape at its end
// give the InChI.
func drawBms(s *set) {
	folder := func(id string) string { return id[:1] + "/" + id[1:2] + "/" + id[2:3] + "/" + id + ".png" }
	var labels, sample, approved [][]string
	for range 240 {
		id, n, kind := s.hex(12), 4+s.IntN(9), s.weighted(2, 1, 1)
		s.file("train/"+folder(id), pngOf(pictureBms(s, n, kind)))
		labels = append(labels, []string{id, inchiBms(n, kind)})
	}
	for range 8 {
		id := s.hex(12)
		s.file("test/"+folder(id), pngOf(pictureBms(s, 4+s.IntN(9), s.IntN(3))))
		sample = append(sample, []string{id, "InChI=1S/H2O/h1H2"})
	}
	for n := 13; n < 40; n++ {
		approved = append(approved, []string{inchiBms(n, s.IntN(3))})
	}
	s.csv("train_labels.csv", []string{"image_id", "InChI"}, labels)
	s.csv("sample_submission.csv", []string{"image_id", "InChI"}, sample)
	s.csv("extra_approved_InChIs.csv", []string{"InChI"}, approved)
}

// learnBms classifies by the size of the picture and the share of black.
func learnBms(l *lesson) {
	features := func(folder, id string) []float64 {
		data := l.file(folder + "/" + id[:1] + "/" + id[1:2] + "/" + id[2:3] + "/" + id + ".png")
		config, _, err := image.DecodeConfig(bytes.NewReader(data))
		must(err)
		size := float64(max(config.Width, config.Height))
		black := (255 - colors(data)[0]) / 255 * float64(config.Width*config.Height)
		return []float64{size * 3, black - size}
	}
	model := l.rows("train_labels.csv").classifier("InChI", func(r *rows, i int) []float64 {
		return features("train", r.get(i, "image_id"))
	})
	l.submitLike("sample_submission.csv", []string{"InChI"}, func(r *rows, i int) []string {
		return []string{model.class(features("test", r.get(i, "image_id")))}
	})
}

var breedsDogBreed = strings.Fields(`affenpinscher afghan_hound african_hunting_dog airedale american_staffordshire_terrier
appenzeller australian_terrier basenji basset beagle bedlington_terrier bernese_mountain_dog black-and-tan_coonhound
blenheim_spaniel bloodhound bluetick border_collie border_terrier borzoi boston_bull bouvier_des_flandres boxer
brabancon_griffon briard brittany_spaniel bull_mastiff cairn cardigan chesapeake_bay_retriever chihuahua chow clumber
cocker_spaniel collie curly-coated_retriever dandie_dinmont dhole dingo doberman english_foxhound english_setter
english_springer entlebucher eskimo_dog flat-coated_retriever french_bulldog german_shepherd
german_short-haired_pointer giant_schnauzer golden_retriever gordon_setter great_dane great_pyrenees
greater_swiss_mountain_dog groenendael ibizan_hound irish_setter irish_terrier irish_water_spaniel irish_wolfhound
italian_greyhound japanese_spaniel keeshond kelpie kerry_blue_terrier komondor kuvasz labrador_retriever
lakeland_terrier leonberg lhasa malamute malinois maltese_dog mexican_hairless miniature_pinscher miniature_poodle
miniature_schnauzer newfoundland norfolk_terrier norwegian_elkhound norwich_terrier old_english_sheepdog otterhound
papillon pekinese pembroke pomeranian pug redbone rhodesian_ridgeback rottweiler saint_bernard saluki samoyed
schipperke scotch_terrier scottish_deerhound sealyham_terrier shetland_sheepdog shih-tzu siberian_husky silky_terrier
soft-coated_wheaten_terrier staffordshire_bullterrier standard_poodle standard_schnauzer sussex_spaniel
tibetan_mastiff tibetan_terrier toy_poodle toy_terrier vizsla walker_hound weimaraner welsh_springer_spaniel
west_highland_white_terrier whippet wire-haired_fox_terrier yorkshire_terrier`)

// drawDogBreed draws photographs: each breed has a color of its own.
func drawDogBreed(s *set) {
	photo := func(breed int) []byte {
		shade := func(step int) uint8 { return uint8(40 + 34*step + s.IntN(8)) } //nolint:gosec // below 256
		c := color.RGBA{shade(breed % 5), shade(breed / 5 % 5), shade(breed / 25), 255}
		return jpegOf(s.picture(16+s.IntN(3), 16, c, 3))
	}
	var labels, sample [][]string
	for i := range 260 {
		breed := i % len(breedsDogBreed)
		if i >= 240 {
			breed = s.IntN(len(breedsDogBreed))
		}
		id := s.hex(32)
		s.file("train/"+id+".jpg", photo(breed))
		labels = append(labels, []string{id, breedsDogBreed[breed]})
	}
	s.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	for range 8 {
		id := s.hex(32)
		s.file("test/"+id+".jpg", photo(s.IntN(len(breedsDogBreed))))
		row := []string{id}
		for range breedsDogBreed {
			row = append(row, "0.00833333333333")
		}
		sample = append(sample, row)
	}
	s.csv("labels.csv", []string{"id", "breed"}, labels)
	s.csv("sample_submission.csv", append([]string{"id"}, breedsDogBreed...), sample)
}

// learnDogBreed classifies by mean color, with a small share for all breeds.
func learnDogBreed(l *lesson) {
	model := l.rows("labels.csv").classifier("breed", func(r *rows, i int) []float64 {
		return colors(l.file("train/" + r.get(i, "id") + ".jpg"))
	})
	model.scale = []float64{6, 6, 6} // the spread within a breed
	breeds := l.rows("sample_submission.csv").header[1:]
	l.submitLike("sample_submission.csv", breeds, func(r *rows, i int) []string {
		c := colors(l.file("test/" + r.get(i, "id") + ".jpg"))
		p, sum := make([]float64, len(breeds)), 0.0
		for k, breed := range breeds {
			p[k] = model.probability(c, breed) + 1e-3
			sum += p[k]
		}
		out := make([]string, len(breeds))
		for k := range p {
			out[k] = ftoa(p[k]/sum, 10)
		}
		return out
	})
}

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
