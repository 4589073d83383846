package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

var exercisesJ = []exercise{
	{id: "herbarium-2021-fgvc8", draw: drawHerbarium21, learn: learnHerbarium21},
	{id: "rsna-2022-cervical-spine-fracture-detection", draw: drawRSNASpine, learn: learnRSNASpine},
	{id: "chaii-hindi-and-tamil-question-answering", draw: drawChaii, learn: learnChaii},
	{id: "stanford-covid-vaccine", draw: drawCovid, learn: learnCovid},
	{id: "google-research-identify-contrails-reduce-global-warming", draw: drawContrails, learn: learnContrails},
	{id: "predict-volcanic-eruptions-ingv-oe", draw: drawVolcano, learn: learnVolcano},
	{id: "billion-word-imputation", draw: drawBillion, learn: learnBillion},
	{id: "mlsp-2013-birds", draw: drawBirds, learn: learnBirds},
	{id: "tweet-sentiment-extraction", draw: drawTweet, learn: learnTweet},
}

// drawHerbarium21 draws sheets and their metadata: the plant's color depends on the
// species. A rare species has a single sheet.
func drawHerbarium21(s *set) {
	var annotations, images, categories, institutions, licenses, tests []any
	word := func(end string) string {
		return s.one("Ar", "Be", "Cas", "Dro", "Eu", "Phy", "Sti") + s.one("la", "mi", "ne", "ro", "so") + s.one("dend", "phor", "carp", "lep") + end
	}
	orders := []string{"Asterales", "Fabales", "Lamiales", "Poales"}
	category, tints := 0, tintsB(20)
	for k, tint := range tints {
		categories = append(categories, recordB{"family", word("aceae"), "id", category, "name", word("um") + " " + strings.ToLower(word("ii")) + " (L.) A. Gray", "order", orders[k%4]})
		sheets := 1 + k%4
		if k%3 != 0 {
			sheets = 5 + s.IntN(5)
		}
		for range sheets {
			id := 50000 + s.IntN(1_950_000)
			name := fmt.Sprintf("images/%03d/%02d/%d.jpg", category/100, category%100, id)
			annotations = append(annotations, recordB{"category_id", category, "id", id, "image_id", id, "institution_id", s.IntN(5)})
			images = append(images, recordB{"file_name", name, "height", 36, "id", id, "license", s.IntN(3), "width", 24})
			s.file("train/"+name, jpegOf(s.picture(24, 36, s.nearB(tint), 3)))
		}
		category += 1 + s.IntN(6500)
	}
	for i := range 3 {
		name := fmt.Sprintf("images/000/%d.jpg", i)
		tests = append(tests, recordB{"file_name", name, "height", 36, "id", itoa(i), "license", 0, "width", 24})
		s.file("test/"+name, jpegOf(s.picture(24, 36, tints[i], 3)))
		licenses = append(licenses, recordB{"id", i, "name", "License " + itoa(i), "url", "https://example.org/licenses/" + itoa(i)})
	}
	for i, name := range strings.Fields("AB CDE FGH IJ KL") {
		institutions = append(institutions, recordB{"id", i, "name", "Herbarium " + name})
	}
	info := recordB{"contributor", "Herbaria", "date_created", "2021-03-01", "description", "Drawn sheets", "url", "https://example.org", "version", "1.0", "year", 2021}
	// The annotations stand in the order of the images, which is not that of the species.
	s.Shuffle(len(images), func(i, j int) {
		images[i], images[j] = images[j], images[i]
		annotations[i], annotations[j] = annotations[j], annotations[i]
	})
	s.json("train/metadata.json", recordB{"annotations", annotations, "categories", categories, "images", images, "info", info, "institutions", institutions, "licenses", licenses})
	s.json("test/metadata.json", recordB{"images", tests, "info", info, "licenses", licenses})
	s.csv("sample_submission.csv", []string{"Id", "Predicted"}, [][]string{{"0", "1"}, {"1", "27"}, {"2", "42"}})
}

// learnHerbarium21 classifies by mean color.
func learnHerbarium21(l *lesson) {
	var train, test indexB
	must(json.Unmarshal(l.file("train/metadata.json"), &train))
	must(json.Unmarshal(l.file("test/metadata.json"), &test))
	var x [][]float64
	var y []string
	for i, image := range train.Images {
		x = append(x, colors(l.file("train/"+image.FileName)))
		y = append(y, itoa(train.Annotations[i].CategoryID))
	}
	model, found := fitCentroids(x, y), map[string]string{}
	for _, image := range test.Images {
		found[fmt.Sprint(image.ID)] = model.class(colors(l.file("test/" + image.FileName)))
	}
	l.submitLike("sample_submission.csv", []string{"Predicted"}, func(r *rows, i int) []string {
		return []string{found[r.get(i, "Id")]}
	})
}

var vertebraeRSNASpine = strings.Fields("C1 C2 C3 C4 C5 C6 C7")

// sliceRSNASpine draws a slice of a scan: a bright ring of bone, with a dark gap if it is
// broken.
func sliceRSNASpine(s *set, study string, number int, broken bool) []byte {
	const size = 18
	tissue, bone, pixels := 1000+20*s.IntN(4), 1500+50*s.IntN(3), make([]uint16, size*size)
	for y := range size {
		for x := range size {
			level, r2 := 24, (2*x-size+1)*(2*x-size+1)+(2*y-size+1)*(2*y-size+1)
			if r2 < 290 {
				level = tissue
			}
			if r2 > 40 && r2 < 140 && (!broken || x < 9 || y < 7) {
				level = bone
			}
			pixels[y*size+x] = uint16(level) //nolint:gosec // 12 bits
		}
	}
	for range 2 {
		pixels[s.IntN(len(pixels))] += uint16(s.IntN(200)) //nolint:gosec // small
	}
	return dicom{
		class: "1.2.840.10008.5.1.4.1.1.2", instance: fmt.Sprintf("%s.1.%d", study, number), modality: "CT", width: size, height: size, pixels: pixels,
		about: []element{{0x10, 0x10, "PN", study[20:]}, {0x10, 0x20, "LO", study[20:]}, {0x18, 0x50, "DS", "0.625"}, {0x20, 0xd, "UI", study}, {0x20, 0xe, "UI", study + ".1"}, {0x20, 0x13, "IS", itoa(number)}},
	}.file()
}

// drawRSNASpine draws scans of necks, one slice per vertebra: the ring of a broken
// vertebra has a gap.
func drawRSNASpine(s *set) {
	numbers := s.Perm(32000)[:104]
	slices.Sort(numbers[:100])
	var train, boxes, test, sample [][]string
	for k, number := range numbers {
		study := "1.2.826.0.1.3680043." + itoa(100+number)
		row, hurt, overall := make([]string, 7), s.IntN(2) == 0, 0
		for i := range row {
			broken := hurt && s.Float64() < []float64{0.15, 0.3, 0.1, 0.12, 0.2, 0.3, 0.45}[i]
			row[i] = "0"
			if broken {
				row[i], overall = "1", 1
			}
			folder := "train_images/"
			if k >= 100 {
				folder = "test_images/"
			}
			s.file(fmt.Sprintf("%s%s/%d.dcm", folder, study, i+1), sliceRSNASpine(s, study, i+1, broken))
			if broken && k < 100 && k%2 == 0 {
				boxes = append(boxes, []string{study, ftoa(s.between(8, 9), 5), ftoa(s.between(6, 7), 5), ftoa(s.between(4, 9), 5), ftoa(s.between(4, 9), 1), itoa(i + 1)})
			}
		}
		if k >= 100 {
			target := append([]string{"patient_overall"}, vertebraeRSNASpine...)[k-100]
			test = append(test, []string{study + "_" + target, study, target})
			sample = append(sample, []string{study + "_" + target, "0.5"})
			continue
		}
		train = append(train, append([]string{study, itoa(overall)}, row...))
		if k%3 == 0 {
			s.file("segmentations/"+study+".nii", niftiRSNASpine(6, 6, 7))
		}
	}
	s.Shuffle(len(train), func(i, j int) { train[i], train[j] = train[j], train[i] })
	s.csv("train.csv", append([]string{"StudyInstanceUID", "patient_overall"}, vertebraeRSNASpine...), train)
	s.csv("train_bounding_boxes.csv", strings.Fields("StudyInstanceUID x y width height slice_number"), boxes)
	s.csv("test.csv", []string{"row_id", "StudyInstanceUID", "prediction_type"}, test)
	s.csv("sample_submission.csv", []string{"row_id", "fractured"}, sample)
}

// learnRSNASpine regresses a fracture on the number of bright pixels of a vertebra's
// slice, less the largest of the scan.
func learnRSNASpine(l *lesson) {
	levels := func(folder, study string) []float64 {
		out := make([]float64, len(vertebraeRSNASpine))
		for k := range out {
			for _, p := range readDICOM(l.file(fmt.Sprintf("%s/%s/%d.dcm", folder, study, k+1))).pixels {
				if p > 1300 {
					out[k]++
				}
			}
		}
		top := slices.Max(out)
		for k := range out {
			out[k] = (out[k] - top) / 10
		}
		return out
	}
	train := l.rows("train.csv")
	var x [][]float64
	var y []float64
	for i := range train.len() {
		for k, level := range levels("train_images", train.get(i, "StudyInstanceUID")) {
			x, y = append(x, []float64{level}), append(y, train.number(i, vertebraeRSNASpine[k]))
		}
	}
	model := fitLinear(x, y)
	l.submitLike("sample_submission.csv", []string{"fractured"}, func(r *rows, i int) []string {
		study, target, _ := strings.Cut(r.get(i, "row_id"), "_")
		p, all := 0.02, levels("test_images", study)
		for k, level := range all {
			if v := vertebraeRSNASpine[k]; v == target || target == "patient_overall" {
				p = max(p, min(0.98, model.predict([]float64{level})))
			}
		}
		return []string{ftoa(p, 6)}
	})
}
