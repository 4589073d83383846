package main

import (
	"image/color"
	"strings"
)

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
