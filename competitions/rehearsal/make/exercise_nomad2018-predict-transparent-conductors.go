package main

import (
	"fmt"
	"strings"
)

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
