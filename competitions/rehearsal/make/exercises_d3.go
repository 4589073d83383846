package main

import (
	"encoding/json"
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
	model := l.rows("train.csv").classifier("category_id", func(r *rows, i int) []float64 {
		return colors(l.member("train_images.zip", r.get(i, "id")+".jpg"))
	})
	l.submitLike("sample_submission.csv", []string{"Category"}, func(r *rows, i int) []string {
		return []string{model.class(colors(l.member("test_images.zip", r.get(i, "Id")+".jpg")))}
	})
}

// drawLmsys draws conversations: people prefer the longer answer, and tie answers of
// about the same length.
func drawLmsys(s *set) {
	texts := func(of []string) string {
		data, err := json.Marshal(of)
		must(err)
		return strings.ReplaceAll(string(data), "😀", `\ud83d\ude00`)
	}
	answer := func(sentences int) string {
		var b strings.Builder
		for range sentences {
			b.WriteString(s.one("This is a point. ", "Here is \"more\".\n", "1. A step: ", "An emoji 😀 ", "So, yes. "))
		}
		return b.String()
	}
	var train, test, sample [][]string
	for i := range 250 {
		var prompt, a, b []string
		lead := 0
		for range 1 + s.weighted(6, 1, 1) {
			na, nb := 1+s.IntN(9), 1+s.IntN(9)
			lead += na - nb
			prompt = append(prompt, s.one("How do I ", "Why does one ", "Write about ")+s.one("bake bread", "sort a list", "sail a boat", "learn to sing")+"?")
			a, b = append(a, answer(na)), append(b, answer(nb))
		}
		winner := 2
		if v := float64(lead) + s.normal(0, 2); v > 2 {
			winner = 0
		} else if v < -2 {
			winner = 1
		}
		won := []string{"0", "0", "0"}
		won[winner] = "1"
		id := itoa(s.IntN(1<<20)*4096 + i)
		row := []string{id, "model-" + itoa(s.IntN(6)), "model-" + itoa(6+s.IntN(6)), texts(prompt), texts(a), texts(b)}
		if i < 3 {
			test = append(test, []string{id, row[3], row[4], row[5]})
			sample = append(sample, []string{id, "0.333333333", "0.333333333", "0.333333333"})
			continue
		}
		train = append(train, append(row, won...))
	}
	winners := []string{"winner_model_a", "winner_model_b", "winner_tie"}
	s.csv("train.csv", append(strings.Split("id,model_a,model_b,prompt,response_a,response_b", ","), winners...), train)
	s.csv("test.csv", []string{"id", "prompt", "response_a", "response_b"}, test)
	s.csv("sample_submission.csv", append([]string{"id"}, winners...), sample)
}

// learnLmsys classifies by the difference of the lengths.
func learnLmsys(l *lesson) {
	lead := func(r *rows, i int) []float64 {
		return []float64{float64(len(r.get(i, "response_a")) - len(r.get(i, "response_b")))}
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	var x [][]float64
	var y []string
	winners := []string{"winner_model_a", "winner_model_b", "winner_tie"}
	for i := range train.len() {
		x = append(x, lead(train, i))
		for _, w := range winners {
			if train.get(i, w) == "1" {
				y = append(y, w)
			}
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", winners, func(_ *rows, i int) []string {
		a, b := model.probability(lead(test, i), winners[0]), model.probability(lead(test, i), winners[1])
		return []string{ftoa(a, 8), ftoa(b, 8), ftoa(max(0, 1-a-b), 8)}
	})
}

// drawNomad draws crystals: the band gap falls with the share of indium, the formation
// energy rises with the share of gallium.
func drawNomad(s *set) {
	targets := []string{"formation_energy_ev_natom", "bandgap_energy_ev"}
	header := strings.Split("id,spacegroup,number_of_total_atoms,percent_atom_al,percent_atom_ga,percent_atom_in,lattice_vector_1_ang,lattice_vector_2_ang,lattice_vector_3_ang,lattice_angle_alpha_degree,lattice_angle_beta_degree,lattice_angle_gamma_degree", ",")
	part := func(folder string, n int) ([][]string, *set) {
		files := s.part()
		var rows [][]string
		for i := range n {
			row, geometry := crystalNomad(s, i+1)
			rows = append(rows, row)
			files.file(fmt.Sprintf("%s/%d/geometry.xyz", folder, i+1), []byte(geometry))
			if folder == "train" && i == 20 {
				files.file(fmt.Sprintf("%s/%d/geometry-old.xyz", folder, i+1), []byte(geometry[:len(geometry)/2]))
			}
		}
		return rows, files
	}
	table := func(name string, header []string, rows [][]string) {
		inside := s.part()
		inside.csv(name, header, rows)
		s.zip(name+".zip", inside)
	}
	train, trainFiles := part("train", 150)
	test, testFiles := part("test", 6)
	var sample [][]string
	for i := range test {
		test[i] = test[i][:len(header)]
		sample = append(sample, []string{itoa(i + 1), "0.1779", "1.8892"})
	}
	table("train.csv", append(append([]string{}, header...), targets...), train)
	table("test.csv", header, test)
	table("sample_submission.csv", append([]string{"id"}, targets...), sample)
	s.zip("train.zip", trainFiles)
	s.zip("test.zip", testFiles)
}

// crystalNomad draws a row and a geometry.
func crystalNomad(s *set, id int) (row []string, geometry string) {
	al := float64(s.IntN(16)) / 16
	ga := float64(s.IntN(int(16*(1-al))+1)) / 16
	in := 1 - al - ga
	var b strings.Builder
	b.WriteString("#=======================================================\n#Created by a generator\n#=======================================================\n")
	row = []string{itoa(id), s.one("12", "33", "167", "194", "206", "227"), s.one("10.0", "30.0", "40.0", "80.0", "80.0"), ftoa(al, 4), ftoa(ga, 4), ftoa(in, 4)}
	for k := range 3 {
		length := s.between(4, 9) * (1 + in/8)
		v := [3]float64{}
		v[k] = length
		fmt.Fprintf(&b, "lattice_vector %.4f %.4f %.4f \n", v[0], v[1], v[2])
		row = append(row, ftoa(length, 4))
	}
	for range 3 {
		row = append(row, s.one("90.0", "90.0001", "119.9999", "120.0"))
	}
	for k := range 5 {
		element := "O"
		if k < 2 {
			element = []string{"Al", "Ga", "In"}[s.weighted(al, ga, in)]
		}
		fmt.Fprintf(&b, "atom %.2f %.2f %.2f %s\n", s.between(0, 9), s.between(0, 9), s.between(0, 9), element)
	}
	formation := max(0, 0.05+0.25*ga+s.normal(0, 0.03))
	gap := max(0.1, 4.5-3*in-1.5*ga+s.normal(0, 0.2))
	return append(row, ftoa(formation, 4), ftoa(gap, 4)), b.String()
}

// learnNomad fits two regressions.
func learnNomad(l *lesson) {
	targets := []string{"formation_energy_ev_natom", "bandgap_energy_ev"}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	shares := func(r *rows, i int) []float64 {
		return []float64{r.number(i, "percent_atom_al"), r.number(i, "percent_atom_ga"), r.number(i, "percent_atom_in")}
	}
	var x, y [][]float64
	y = make([][]float64, 2)
	for i := range train.len() {
		x = append(x, shares(train, i))
		for k, target := range targets {
			y[k] = append(y[k], train.number(i, target))
		}
	}
	formation, gap := fitLinear(x, y[0]), fitLinear(x, y[1])
	l.submitLike("sample_submission.csv", targets, func(_ *rows, i int) []string {
		v := shares(test, i)
		return []string{ftoa(max(0, formation.predict(v)), 6), ftoa(max(0, gap.predict(v)), 6)}
	})
}
