package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

var spentSpaceship = []string{"RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"}

// drawSpaceship draws passengers in groups: those asleep and those who spend little on
// room service, spa and games are transported more often.
func drawSpaceship(s *set) {
	header := slices.Concat(strings.Split("PassengerId,HomePlanet,CryoSleep,Cabin,Destination,Age,VIP", ","), spentSpaceship, []string{"Name", "Transported"})
	var all [][]string
	truth := map[bool]string{false: "False", true: "True"}
	for group := 1; len(all) < 520; group++ {
		planet, side := s.weighted(54, 25, 21), s.one("P", "S")
		cabin := s.one("A", "B", "C", "D", "E", "F", "F", "G", "G") + "/" + itoa(group/4) + "/" + side
		family := s.one("Ara", "Bel", "Cor", "Dun", "Fen", "Hol") + s.one("dersen", "lington", "ovan", "wick", "ters")
		for k := range 1 + s.weighted(5, 2, 1) {
			asleep := s.Float64() < 0.35
			row := []string{
				fmt.Sprintf("%04d_%02d", group, k+1), []string{"Earth", "Europa", "Mars"}[planet], truth[asleep], cabin,
				[]string{"TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"}[s.weighted(69, 21, 10)], ftoa(math.Abs(math.Round(s.normal(29, 14))), 1), truth[s.IntN(40) == 0],
			}
			score := s.normal(-0.2, 0.6)
			for j := range spentSpaceship {
				spent := 0.0
				if !asleep && s.IntN(3) > 0 {
					spent = math.Floor(math.Exp(s.between(0, 8)))
				}
				score += []float64{-0.3, 0.15, 0.1, -0.3, -0.3}[j] * math.Log1p(spent) / 2
				row = append(row, ftoa(spent, 1))
			}
			if asleep {
				score++
			}
			row = append(row, s.one("Ada", "Bryn", "Col", "Dara", "Eno", "Finn", "Gia")+s.one("", "n", "s", "th")+" "+family, truth[score > -0.35])
			for j := 1; j < len(row)-1; j++ {
				if s.IntN(45) == 0 {
					row[j] = ""
				}
			}
			all = append(all, row)
		}
	}
	var test, sample [][]string
	for range 20 {
		row := all[len(all)-1]
		all = all[:len(all)-1]
		test = append(test, row[:len(row)-1])
		sample = append(sample, []string{row[0], "False"})
	}
	s.csv("train.csv", header, all)
	s.csv("test.csv", header[:len(header)-1], test)
	s.csv("sample_submission.csv", []string{"PassengerId", "Transported"}, sample)
}

// learnSpaceship classifies by sleep and the logarithms of what was spent.
func learnSpaceship(l *lesson) {
	features := func(r *rows, i int) []float64 {
		x := []float64{0}
		if r.get(i, "CryoSleep") == "True" {
			x[0] = 1
		}
		for _, name := range spentSpaceship {
			x = append(x, math.Log1p(r.number(i, name)))
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model := train.classifier("Transported", features)
	l.submitLike("sample_submission.csv", []string{"Transported"}, func(_ *rows, i int) []string {
		return []string{model.class(features(test, i))}
	})
}
