package main

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
)

var ctx = context.Background()

// mean is the mean of numbers, 0 of none.
func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// linear is a ridge regression: weights of the features, and an intercept at the end.
type linear []float64

// fitLinear solves the normal equations with a small ridge.
func fitLinear(x [][]float64, y []float64) linear {
	n := len(x[0]) + 1
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n+1)
		a[i][i] = 1e-3
	}
	for r, row := range x {
		row = append(slices.Clone(row), 1)
		for i := range n {
			for j := range n {
				a[i][j] += row[i] * row[j]
			}
			a[i][n] += row[i] * y[r]
		}
	}
	for i := range n {
		p := i
		for k := i + 1; k < n; k++ {
			if math.Abs(a[k][i]) > math.Abs(a[p][i]) {
				p = k
			}
		}
		a[i], a[p] = a[p], a[i]
		for k := range n {
			if k == i {
				continue
			}
			f := a[k][i] / a[i][i]
			for j := i; j <= n; j++ {
				a[k][j] -= f * a[i][j]
			}
		}
	}
	w := make(linear, n)
	for i := range w {
		w[i] = a[i][n] / a[i][i]
	}
	return w
}

func (w linear) predict(x []float64) float64 {
	sum := w[len(w)-1]
	for i, v := range x {
		sum += w[i] * v
	}
	return sum
}

// centroids classifies by the nearest mean of a class, each feature divided by its
// standard deviation.
type centroids struct {
	classes []string
	means   [][]float64
	scale   []float64
}

func fitCentroids(x [][]float64, y []string) *centroids {
	byClass := map[string][][]float64{}
	for i, row := range x {
		byClass[y[i]] = append(byClass[y[i]], row)
	}
	c := &centroids{classes: slices.Sorted(maps.Keys(byClass)), scale: make([]float64, len(x[0]))}
	for j := range c.scale {
		column := make([]float64, len(x))
		for i := range x {
			column[i] = x[i][j]
		}
		m, squares := mean(column), 0.0
		for _, v := range column {
			squares += (v - m) * (v - m)
		}
		c.scale[j] = math.Sqrt(squares/float64(len(x))) + 1e-9
	}
	for _, class := range c.classes {
		means := make([]float64, len(c.scale))
		for j := range means {
			for _, row := range byClass[class] {
				means[j] += row[j] / float64(len(byClass[class]))
			}
		}
		c.means = append(c.means, means)
	}
	return c
}

// probabilities returns one per class, in the order of classes: a softmax of the squared
// distances.
func (c *centroids) probabilities(x []float64) []float64 {
	p := make([]float64, len(c.classes))
	for k := range p {
		for j, v := range x {
			d := (v - c.means[k][j]) / c.scale[j]
			p[k] -= d * d / 2
		}
	}
	top, sum := slices.Max(p), 0.0
	for k := range p {
		p[k] = math.Exp(p[k] - top)
		sum += p[k]
	}
	for k := range p {
		p[k] = (p[k]/sum + 1e-3) / (1 + 1e-3*float64(len(p)))
	}
	return p
}

// ranked returns the classes, the most probable first.
func (c *centroids) ranked(x []float64) []string {
	p, order := c.probabilities(x), slices.Clone(c.classes)
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(p[slices.Index(c.classes, b)], p[slices.Index(c.classes, a)])
	})
	return order
}

// class returns the most probable class.
func (c *centroids) class(x []float64) string {
	p := c.probabilities(x)
	best := 0
	for k := range p {
		if p[k] > p[best] {
			best = k
		}
	}
	return c.classes[best]
}

// probability returns that of one class, 0 of an unknown one.
func (c *centroids) probability(x []float64, class string) float64 {
	if k := slices.Index(c.classes, class); k >= 0 {
		return c.probabilities(x)[k]
	}
	return 0
}

// wordCounts classifies texts by counts of words (naive Bayes).
type wordCounts struct {
	texts  map[string]float64
	counts map[string]map[string]float64
	sums   map[string]float64
	known  map[string]bool
}

func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '\'') })
}

func fitWordCounts(texts, labels []string) *wordCounts {
	m := &wordCounts{map[string]float64{}, map[string]map[string]float64{}, map[string]float64{}, map[string]bool{}}
	for i, text := range texts {
		label := labels[i]
		m.texts[label]++
		if m.counts[label] == nil {
			m.counts[label] = map[string]float64{}
		}
		for _, w := range splitWords(text) {
			m.counts[label][w]++
			m.sums[label]++
			m.known[w] = true
		}
	}
	return m
}

func (m *wordCounts) class(text string) string {
	best, top := "", math.Inf(-1)
	for _, label := range slices.Sorted(maps.Keys(m.texts)) {
		score := math.Log(m.texts[label])
		for _, w := range splitWords(text) {
			if m.known[w] {
				score += math.Log((m.counts[label][w] + 0.5) / (m.sums[label] + 0.5*float64(len(m.known))))
			}
		}
		if score > top {
			best, top = label, score
		}
	}
	return best
}
