package main

import (
	"fmt"
	"math"
	"strings"
)

// champs collects the tables of champs-scalar-coupling while molecules are drawn.
type champs struct {
	train, test, sample, structures, dipoles, shielding, charges, energies, contributions [][]string
	id                                                                                    int
}

// drawChamps draws molecules: a coupling depends on its type and on the distance of its
// two atoms.
func drawChamps(s *set) {
	var c champs
	number := 0
	for i := range 44 {
		number += 1 + s.IntN(3000)
		c.molecule(s, fmt.Sprintf("dsgdb9nsd_%06d", number), i%11 == 10)
	}
	pair := []string{"molecule_name", "atom_index_0", "atom_index_1", "type"}
	s.csv("train.csv", append(append([]string{"id"}, pair...), "scalar_coupling_constant"), c.train)
	s.csv("test.csv", append([]string{"id"}, pair...), c.test)
	s.csv("sample_submission.csv", []string{"id", "scalar_coupling_constant"}, c.sample)
	s.csv("structures.csv", []string{"molecule_name", "atom_index", "atom", "x", "y", "z"}, c.structures)
	s.csv("dipole_moments.csv", []string{"molecule_name", "X", "Y", "Z"}, c.dipoles)
	s.csv("magnetic_shielding_tensors.csv", strings.Split("molecule_name,atom_index,XX,YX,ZX,XY,YY,ZY,XZ,YZ,ZZ", ","), c.shielding)
	s.csv("mulliken_charges.csv", []string{"molecule_name", "atom_index", "mulliken_charge"}, c.charges)
	s.csv("potential_energy.csv", []string{"molecule_name", "potential_energy"}, c.energies)
	s.csv("scalar_coupling_contributions.csv", append(pair, "fc", "sd", "pso", "dso"), c.contributions)
}

// molecule draws a chain of carbon and nitrogen atoms, followed by their hydrogen atoms.
// A molecule of the original's test set has no known properties.
func (c *champs) molecule(s *set, name string, hidden bool) {
	var atoms []string
	var at [][3]float64
	heavy := 2 + s.IntN(2)
	for i := range heavy {
		atoms = append(atoms, []string{"C", "N"}[s.weighted(3, 1)])
		at = append(at, [3]float64{1.5*float64(i) + s.normal(0, 0.05), s.normal(0, 0.05), s.normal(0, 0.05)})
	}
	for range 3 {
		atoms = append(atoms, "H")
		at = append(at, [3]float64{at[s.IntN(heavy)][0] + s.normal(0, 0.2), s.normal(0, 0.8), s.normal(0, 0.8)})
	}
	xyz := fmt.Sprintf("%d\n\n", len(atoms))
	for i, p := range at {
		x, y, z := ftoa(p[0], 4), ftoa(p[1], 4), ftoa(p[2], 4)
		xyz += fmt.Sprintf("%s %s %s %s\n", atoms[i], x, y, z)
		c.structures = append(c.structures, []string{name, itoa(i), atoms[i], x, y, z})
		if hidden {
			continue
		}
		c.charges = append(c.charges, []string{name, itoa(i), ftoa(s.normal(0, 0.3), 4)})
		tensor := []string{name, itoa(i)}
		for k := range 9 {
			level := 0.0
			if k%4 == 0 {
				level = 30
			}
			tensor = append(tensor, ftoa(s.normal(level, 5), 1))
		}
		c.shielding = append(c.shielding, tensor)
	}
	s.file("structures/"+name+".xyz", []byte(xyz))
	if !hidden {
		c.dipoles = append(c.dipoles, []string{name, ftoa(s.normal(0, 2), 4), ftoa(s.normal(0, 2), 4), ftoa(s.normal(0, 1), 4)})
		c.energies = append(c.energies, []string{name, ftoa(-40*float64(heavy)+s.normal(0, 5), 5)})
	}
	for i := heavy; i < len(atoms); i++ {
		for j := range i {
			distance := math.Hypot(math.Hypot(at[i][0]-at[j][0], at[i][1]-at[j][1]), at[i][2]-at[j][2])
			c.coupling(s, name, i, j, atoms[j], distance, hidden)
		}
	}
}

// coupling draws that of a hydrogen atom and another.
func (c *champs) coupling(s *set, name string, i, j int, other string, distance float64, hidden bool) {
	bonds := min(3, 1+int(distance/1.4))
	if other == "H" {
		bonds = 2 + s.IntN(2)
	}
	kind := fmt.Sprintf("%dJH%s", bonds, other)
	level := map[string]float64{"1JHC": 95, "1JHN": 47, "2JHC": -1, "2JHH": -10, "2JHN": 3, "3JHC": 4, "3JHH": 5, "3JHN": 1}[kind]
	fc, rest := level+2*(1.4*float64(bonds)-distance)+s.normal(0, 1), [3]float64{}
	sum := fc
	for k := range rest {
		rest[k] = s.normal(0, 0.2)
		sum += rest[k]
	}
	id, row := itoa(c.id), []string{name, itoa(i), itoa(j), kind}
	c.id++
	if hidden {
		c.test = append(c.test, append([]string{id}, row...))
		c.sample = append(c.sample, []string{id, "0"})
		return
	}
	c.train = append(c.train, append(append([]string{id}, row...), ftoa(sum, 4)))
	c.contributions = append(c.contributions, append(row, ftoa(fc, 4), ftoa(rest[0], 4), ftoa(rest[1], 4), ftoa(rest[2], 4)))
}

// learnChamps predicts the mean of a type.
func learnChamps(l *lesson) {
	train, test := l.rows("train.csv"), l.rows("test.csv")
	byType := map[string][]float64{}
	for i := range train.len() {
		kind := train.get(i, "type")
		byType[kind] = append(byType[kind], train.number(i, "scalar_coupling_constant"))
	}
	l.submitLike("sample_submission.csv", []string{"scalar_coupling_constant"}, func(_ *rows, i int) []string {
		return []string{ftoa(mean(byType[test.get(i, "type")]), 6)}
	})
}
