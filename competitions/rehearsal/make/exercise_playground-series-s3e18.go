package main

import (
	"math"
	"strings"
)

// featuresS3e18 are the descriptors of a molecule.
var featuresS3e18 = strings.Split("BertzCT,Chi1,Chi1n,Chi1v,Chi2n,Chi2v,Chi3v,Chi4n,EState_VSA1,EState_VSA2,ExactMolWt,FpDensityMorgan1,FpDensityMorgan2,FpDensityMorgan3,HallKierAlpha,HeavyAtomMolWt,Kappa3,MaxAbsEStateIndex,MinEStateIndex,NumHeteroatoms,PEOE_VSA10,PEOE_VSA14,PEOE_VSA6,PEOE_VSA7,PEOE_VSA8,SMR_VSA10,SMR_VSA5,SlogP_VSA3,VSA_EState9,fr_COO,fr_COO2", ",")

// drawS3e18 draws molecules whose descriptors grow with their size: large ones with few
// heteroatoms are of class EC1, those with acid groups of EC2.
func drawS3e18(s *set) {
	classes := []string{"EC1", "EC2", "EC3", "EC4", "EC5", "EC6"}
	var train, test, sample [][]string
	for i := range 310 {
		size, hetero, acid := s.between(0.5, 2), s.IntN(12), s.weighted(3, 2, 1)
		row := []string{itoa(i)}
		for k, name := range featuresS3e18 {
			switch name {
			case "NumHeteroatoms":
				row = append(row, itoa(hetero))
			case "fr_COO", "fr_COO2":
				row = append(row, itoa(acid))
			case "HallKierAlpha", "MinEStateIndex":
				row = append(row, ftoa(-size*s.between(0.2, 2), 2))
			default:
				if strings.Contains(name, "VSA") && s.IntN(2) == 0 {
					row = append(row, "0.0")
					continue
				}
				row = append(row, ftoa(size*float64(3+5*(k%7))+s.normal(0, 1), 2))
			}
		}
		if i >= 300 {
			test = append(test, row)
			sample = append(sample, []string{itoa(i), "0.5", "0.5"})
			continue
		}
		odds := []float64{2*size - 0.25*float64(hetero) - 0.5, 2*float64(acid) - 0.8, -1, -1.5, -2, -2}
		for _, v := range odds {
			label := "0"
			if s.Float64() < 1/(1+math.Exp(-2*v)) {
				label = "1"
			}
			row = append(row, label)
		}
		train = append(train, row)
	}
	header := append([]string{"id"}, featuresS3e18...)
	s.csv("test.csv", header, test)
	s.csv("train.csv", append(header, classes...), train)
	s.csv("sample_submission.csv", []string{"id", "EC1", "EC2"}, sample)
}

// learnS3e18 fits a regression for each class.
func learnS3e18(l *lesson) {
	features := func(r *rows, i int) []float64 {
		var x []float64
		for _, name := range []string{"BertzCT", "Chi1", "ExactMolWt", "NumHeteroatoms", "fr_COO"} {
			x = append(x, r.number(i, name))
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	var x [][]float64
	y := make([][]float64, 2)
	for i := range train.len() {
		x = append(x, features(train, i))
		y[0] = append(y[0], train.number(i, "EC1"))
		y[1] = append(y[1], train.number(i, "EC2"))
	}
	first, second := fitLinear(x, y[0]), fitLinear(x, y[1])
	l.submitLike("sample_submission.csv", []string{"EC1", "EC2"}, func(_ *rows, i int) []string {
		v := features(test, i)
		return []string{ftoa(first.predict(v), 6), ftoa(second.predict(v), 6)}
	})
}
