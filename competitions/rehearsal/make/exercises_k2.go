package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
)

// tokenNormRussian returns the class of a token, how it is written and how it is spoken.
func tokenNormRussian(s *set, previous string) [3]string {
	ones := strings.Fields("ноль один два три четыре пять шесть семь восемь девять десять")
	genitive := strings.Fields("нуля одного двух трех четырех пяти шести семи восьми девяти десяти")
	days := strings.Fields("первого второго третьего четвертого пятого шестого")
	switch s.weighted(72, 9, 5, 4, 3, 2, 2, 1, 1, 1) {
	case 0:
		word := s.one("в", "и", "на", "с", "до", "река", "город", "был", "год", "В", "Он", "команда", "по", "из", "который", "время")
		return [3]string{"PLAIN", word, word}
	case 1:
		mark := s.one(",", "—", "(", ")", "«", "»")
		return [3]string{"PUNCT", mark, mark}
	case 2:
		n := s.IntN(len(ones))
		if previous == "до" || previous == "из" || s.IntN(6) == 0 {
			return [3]string{"CARDINAL", itoa(n), genitive[n]}
		}
		return [3]string{"CARDINAL", itoa(n), ones[n]}
	case 3:
		day, month := 1+s.IntN(len(days)), s.one("января", "марта", "мая", "июня", "августа")
		return [3]string{"DATE", itoa(day) + " " + month, days[day-1] + " " + month}
	case 4:
		letters := s.one("США", "ВВС", "АН", "МГУ")
		return [3]string{"LETTERS", letters, strings.ToLower(strings.Join(strings.Split(letters, ""), " "))}
	case 5:
		n := 1 + s.IntN(len(days))
		return [3]string{"ORDINAL", itoa(n) + "-го", days[n-1]}
	case 6:
		n := 5 + s.IntN(6)
		return [3]string{"MEASURE", itoa(n) + " км", ones[n] + " километров"}
	case 7:
		spelled := map[string]string{"Iron": "а_trans й_trans р_trans о_trans н_trans", "Rock": "р_trans о_trans к_trans", "Linux": "л_trans и_trans н_trans у_trans к_trans с_trans"}
		word := s.one("Iron", "Linux", "Rock")
		return [3]string{"PLAIN", word, spelled[word]}
	case 8:
		return [3]string{"VERBATIM", "№", "номер"}
	default:
		return [3]string{"PLAIN", "nan", "nan"}
	}
}

// drawNormRussian draws sentences of tokens: how a token is spoken depends on how it is
// written, and a number's case mostly on the word before. Text is quoted, numbers are not; some
// tokens read like a missing value.
func drawNormRussian(s *set) {
	var train, test, sample strings.Builder
	train.WriteString(`"sentence_id","token_id","class","before","after"` + "\n")
	test.WriteString(`"sentence_id","token_id","before"` + "\n")
	sample.WriteString(`"id","after"` + "\n")
	const sentences, tests = 240, 5
	for i := range sentences + tests {
		t, n := [3]string{}, 4+s.IntN(12)
		for k := range n + 1 {
			if t = tokenNormRussian(s, t[1]); k == n {
				t = [3]string{"PUNCT", ".", "."}
			}
			if i < sentences {
				fmt.Fprintf(&train, "%d,%d,\"%s\"\n", i, k, strings.Join(t[:], `","`))
				continue
			}
			fmt.Fprintf(&test, "%d,%d,\"%s\"\n", i-sentences, k, t[1])
			fmt.Fprintf(&sample, "\"%d_%d\",\"%s\"\n", i-sentences, k, t[1])
		}
	}
	inside := func(name, text string) {
		p := s.part()
		p.file(name, []byte(text))
		s.zip(name+".zip", p)
	}
	inside("ru_train.csv", train.String())
	inside("ru_test.csv", test.String())
	inside("ru_test_2.csv", test.String())
	inside("ru_sample_submission.csv", sample.String())
	inside("ru_sample_submission_2.csv", sample.String())
}

// learnNormRussian looks tokens up: the last spoken form after the same word, or else
// the last one.
func learnNormRussian(l *lesson) {
	train, spoken := readRows(l.member("ru_train.csv.zip", "ru_train.csv")), map[[2]string]string{}
	previous := ""
	for i := range train.len() {
		before := train.get(i, "before")
		spoken[[2]string{previous, before}] = train.get(i, "after")
		spoken[[2]string{"", before}] = train.get(i, "after")
		previous = before
	}
	test := readRows(l.member("ru_test_2.csv.zip", "ru_test_2.csv"))
	var out [][]string
	previous = ""
	for i := range test.len() {
		before := test.get(i, "before")
		after, ok := spoken[[2]string{previous, before}]
		if !ok {
			after, ok = spoken[[2]string{"", before}]
		}
		if !ok {
			after = before
		}
		out = append(out, []string{test.get(i, "sentence_id") + "_" + test.get(i, "token_id"), after})
		previous = before
	}
	l.submit([]string{"id", "after"}, out)
}

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
	tints := tintsB(len(ids))
	row := func(name string) []string {
		k := min(s.IntN(len(ids)), s.IntN(len(ids)+6))
		time := fmt.Sprintf("20%d-%02d-%02d %02d:%02d:%02d", 15+s.IntN(5), 1+s.IntN(12), 1+s.IntN(28), s.IntN(24), s.IntN(60), s.IntN(60))
		file := "train_images/" + chains[k] + "/" + name
		if s.files[file] == nil {
			shown := k
			if s.IntN(10) == 0 {
				shown = s.IntN(len(ids))
			}
			s.file(file, jpegOf(s.picture(20, 16, s.nearB(tints[shown]), 3)))
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
		p := model.probabilities(colors(l.file("test_images/" + r.get(i, "image"))))
		order := slices.Clone(model.classes)
		slices.SortStableFunc(order, func(a, b string) int {
			return cmp.Compare(p[slices.Index(model.classes, b)], p[slices.Index(model.classes, a)])
		})
		return []string{strings.Join(order[:5], " ")}
	})
}

const sideSiim = 28

// boxSiim is a bright rectangle: left, top, right, bottom.
type boxSiim [4]float64

// xraySiim draws an X-ray with opacities of a level, as a DICOM file.
func xraySiim(s *set, study, series, image string, boxes []boxSiim, level float64) []byte {
	pixels := make([]uint16, sideSiim*sideSiim)
	for i := range pixels {
		x, y := float64(i%sideSiim)+0.5, float64(i/sideSiim)+0.5
		v := 300 + 10*float64(i/sideSiim) + 20*float64(s.IntN(14)/13)
		for _, b := range boxes {
			if x > b[0] && x < b[2] && y > b[1] && y < b[3] {
				v = level
			}
		}
		pixels[i] = uint16(v)
	}
	return dicom{
		class: "1.2.840.10008.5.1.4.1.1.1.1", instance: image, modality: s.one("CR", "DX"), width: sideSiim, height: sideSiim, pixels: pixels,
		about: []element{{0x10, 0x20, "LO", study}, {0x10, 0x40, "CS", s.one("F", "M")}, {0x20, 0xd, "UI", study}, {0x20, 0xe, "UI", series}, {0x20, 0x10, "SH", study}},
	}.file()
}

// drawSiim draws studies of an X-ray or two: typical ones have two opacities, the level
// tells the others apart. A second X-ray has no boxes though it shows the same.
func drawSiim(s *set) {
	var studies, images [][]string
	for range 130 {
		study, kind := s.hex(12), s.weighted(28, 44, 18, 10)
		level := []float64{0, 1600, 1200, 2200}[kind] + 20*math.Round(s.normal(0, 14))
		row := []string{study + "_study", "0", "0", "0", "0"}
		row[1+kind] = "1"
		studies = append(studies, row)
		side, boxes := s.IntN(2), []boxSiim(nil)
		for half := range 2 {
			if kind == 1 || kind > 1 && half == side {
				x, y := float64(14*half)+s.between(1, 4), s.between(2, 9)
				boxes = append(boxes, boxSiim{x, y, x + s.between(6, 9), y + s.between(8, 16)})
			}
		}
		var list, label []string
		for _, b := range boxes {
			list = append(list, fmt.Sprintf("{'x': %.5f, 'y': %.5f, 'width': %.5f, 'height': %.5f}", b[0], b[1], b[2]-b[0], b[3]-b[1]))
			label = append(label, fmt.Sprintf("opacity 1 %.5f %.5f %.5f %.5f", b[0], b[1], b[2], b[3]))
		}
		for k := range 1 + s.IntN(12)/11 {
			series, image := s.hex(12), s.hex(12)
			s.file("train/"+study+"/"+series+"/"+image+".dcm", xraySiim(s, study, series, image, boxes, level))
			cells := []string{image + "_image", "", "none 1 0 0 1 1", study}
			if len(boxes) > 0 && k == 0 {
				cells[1], cells[2] = "["+strings.Join(list, ", ")+"]", strings.Join(label, " ")
			}
			images = append(images, cells)
		}
	}
	byID := func(a, b []string) int { return strings.Compare(a[0], b[0]) }
	slices.SortFunc(studies, byID)
	slices.SortFunc(images, byID)
	s.csv("train_study_level.csv", []string{"id", "Negative for Pneumonia", "Typical Appearance", "Indeterminate Appearance", "Atypical Appearance"}, studies)
	s.csv("train_image_level.csv", []string{"id", "boxes", "label", "StudyInstanceUID"}, images)
	study, series, image := s.hex(12), s.hex(12), s.hex(12)
	s.file("test/"+study+"/"+series+"/"+image+".dcm", xraySiim(s, study, series, image, nil, 0))
	s.csv("sample_submission.csv", []string{"id", "PredictionString"}, [][]string{{study + "_study", "negative 1 0 0 1 1"}, {image + "_image", "none 1 0 0 1 1"}})
}

// opacitiesSiim returns the box of the bright pixels of each half that has some, and the
// number of boxes and the mean level as features.
func opacitiesSiim(data []byte) (boxes []boxSiim, features []float64) {
	xray := readDICOM(data)
	var levels []float64
	for half := range 2 {
		box := boxSiim{sideSiim, sideSiim, 0, 0}
		for i, p := range xray.pixels {
			x, y := float64(i%xray.width), float64(i/xray.width)
			if p > 800 && i%xray.width*2/xray.width == half {
				levels = append(levels, float64(p))
				box = boxSiim{min(box[0], x), min(box[1], y), max(box[2], x+1), max(box[3], y+1)}
			}
		}
		if box[2] > 0 {
			boxes = append(boxes, box)
		}
	}
	return boxes, []float64{float64(len(boxes)), mean(levels)}
}

// learnSiim classifies studies by the opacities of their X-rays, and frames these.
func learnSiim(l *lesson) {
	xray := func(pattern string) ([]boxSiim, []float64) {
		names, err := fs.Glob(l.public, pattern)
		must(err)
		return opacitiesSiim(l.file(names[0]))
	}
	train := l.rows("train_study_level.csv")
	var x [][]float64
	var y []string
	for i := range train.len() {
		_, features := xray("train/" + strings.TrimSuffix(train.get(i, "id"), "_study") + "/*/*.dcm")
		for j, word := range []string{"negative", "typical", "indeterminate", "atypical"} {
			if train.cells[i][1+j] == "1" {
				x, y = append(x, features), append(y, word)
			}
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"PredictionString"}, func(r *rows, i int) []string {
		id, kind, _ := strings.Cut(r.get(i, "id"), "_")
		var words []string
		if kind == "study" {
			_, features := xray("test/" + id + "/*/*.dcm")
			for _, class := range model.classes {
				words = append(words, fmt.Sprintf("%s %.4f 0 0 1 1", class, model.probability(features, class)))
			}
			return []string{strings.Join(words, " ")}
		}
		boxes, _ := xray("test/*/*/" + id + ".dcm")
		for _, b := range boxes {
			words = append(words, fmt.Sprintf("opacity 0.9 %g %g %g %g", b[0], b[1], b[2], b[3]))
		}
		if len(words) == 0 {
			words = []string{"none 1 0 0 1 1"}
		}
		return []string{strings.Join(words, " ")}
	})
}
