package agent

import (
	"math"
	"math/rand/v2"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

// network is a neural network with one hidden layer of rectified units. Its outputs are
// log-odds of classes, or standardised numbers.
//
// Products are rounded before they are added (float64(a*b)), so that no compiler fuses
// them. A seed therefore gives the same network wherever the exponential function is
// the same.
//
// Only one goroutine uses the inner loops. They are hidden from the race detector
// (go:norace), which would make training fifty times slower.
type network struct {
	in, hidden, out int
	// weights holds both layers; each unit's bias follows its weights.
	weights []float64
	scratch []float64 // activations of the hidden layer
}

func newNetwork(in, hidden, out int, rng *rand.Rand) *network {
	n := &network{in: in, hidden: hidden, out: out, scratch: make([]float64, hidden)}
	n.weights = make([]float64, hidden*(in+1)+out*(hidden+1))
	fill := func(units, inputs int, w []float64) {
		deviation := math.Sqrt(2 / float64(inputs))
		for u := range units {
			for i := range inputs {
				w[u*(inputs+1)+i] = float64(rng.NormFloat64() * deviation)
			}
		}
	}
	fill(hidden, in, n.first())
	fill(out, hidden, n.second())
	return n
}

func (n *network) first() []float64  { return n.weights[:n.hidden*(n.in+1)] }
func (n *network) second() []float64 { return n.weights[n.hidden*(n.in+1):] }

// forward computes the outputs for x into y.
func (n *network) forward(x, y []float64) {
	layer(n.first(), x, n.scratch)
	for i, a := range n.scratch {
		n.scratch[i] = max(0, a)
	}
	layer(n.second(), n.scratch, y)
}

//go:norace
func layer(weights, x, y []float64) {
	stride := len(x) + 1
	for u := range y {
		w := weights[u*stride : (u+1)*stride]
		sum := w[len(x)]
		for i, v := range x {
			sum += float64(w[i] * v)
		}
		y[u] = sum
	}
}

// backward adds the gradient of the weights for x to grad, given dy, the gradient of
// the outputs. The last call of forward must have been for x. back is scratch space for
// the hidden layer.
//
//go:norace
func (n *network) backward(x, dy, grad, back []float64) {
	clear(back)
	second, gradSecond := n.second(), grad[n.hidden*(n.in+1):]
	stride := n.hidden + 1
	for u, d := range dy {
		w, g := second[u*stride:(u+1)*stride], gradSecond[u*stride:(u+1)*stride]
		for i, a := range n.scratch {
			g[i] += float64(d * a)
			back[i] += float64(d * w[i])
		}
		g[n.hidden] += d
	}
	stride = n.in + 1
	for u, d := range back {
		if n.scratch[u] <= 0 {
			continue
		}
		g := grad[u*stride : (u+1)*stride]
		for i, v := range x {
			g[i] += float64(d * v)
		}
		g[n.in] += d
	}
}

// softmax converts log-odds to probabilities in place.
func softmax(y []float64) {
	top := y[0]
	for _, v := range y {
		top = max(top, v)
	}
	sum := 0.0
	for i, v := range y {
		y[i] = libm.Exp(v - top)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
}

// adam is the optimiser of Kingma and Ba (2015), with its usual constants and decoupled
// weight decay.
type adam struct {
	rate, decay   float64
	mean, squares []float64
	mean1, mean2  float64 // powers of the decay rates
}

func newAdam(n int, rate, decay float64) *adam {
	return &adam{rate: rate, decay: decay, mean: make([]float64, n), squares: make([]float64, n), mean1: 1, mean2: 1}
}

//go:norace
func (a *adam) step(weights, grad []float64) {
	const b1, b2, epsilon = 0.9, 0.999, 1e-8
	a.mean1 *= b1
	a.mean2 *= b2
	for i, g := range grad {
		a.mean[i] = float64(b1*a.mean[i]) + float64((1-b1)*g)
		a.squares[i] = float64(b2*a.squares[i]) + float64((1-b2)*float64(g*g))
		m, v := a.mean[i]/(1-a.mean1), a.squares[i]/(1-a.mean2)
		weights[i] -= float64(a.rate * (m/(math.Sqrt(v)+epsilon) + float64(a.decay*weights[i])))
	}
}
