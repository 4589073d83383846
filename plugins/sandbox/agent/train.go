package agent

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

// The parameters of training.
const (
	hiddenUnits  = 64
	batchRows    = 32
	learningRate = 0.003
	weightDecay  = 0.01
	maxEpochs    = 80
	patience     = 12
	// maxWork limits the number of multiplications per training. It takes the place of
	// a time limit, so that a busy machine gives the same result.
	maxWork = 6e9
)

// lesson holds the answers for one target as numbers: the class, or the standardised
// value.
type lesson struct {
	outputs     int
	classes     bool
	class       []int
	number      []float64
	mean, scale float64
}

func newLesson(t target, col []string) (*lesson, error) {
	if t.form != value {
		l := &lesson{outputs: len(t.classes), classes: true, class: make([]int, len(col))}
		for i, v := range col {
			l.class[i] = slices.Index(t.classes, v)
		}
		return l, nil
	}
	l := &lesson{outputs: 1, number: make([]float64, len(col)), scale: 1}
	sum := 0.0
	for i, v := range col {
		x, ok := number(v)
		if !ok {
			return nil, fmt.Errorf("column %q: %q is not a number", t.column, v)
		}
		l.number[i] = x
		sum += x
	}
	l.mean = sum / float64(len(col))
	squares := 0.0
	for _, x := range l.number {
		squares += float64((x - l.mean) * (x - l.mean))
	}
	if squares > 0 {
		l.scale = math.Sqrt(squares / float64(len(col)))
	}
	for i, x := range l.number {
		l.number[i] = (x - l.mean) / l.scale
	}
	return l, nil
}

// loss replaces the network's outputs by their gradient and returns the loss:
// cross-entropy for classes, half the squared error for numbers.
func (l *lesson) loss(row int, y []float64) float64 {
	if !l.classes {
		d := y[0] - l.number[row]
		y[0] = d
		return float64(d*d) / 2
	}
	softmax(y)
	p := y[l.class[row]]
	y[l.class[row]]--
	return -libm.Log(max(p, 1e-15))
}

// trainer trains one network.
type trainer struct {
	x      *matrix
	lesson *lesson
	rng    *rand.Rand
	net    *network
	// fit are the training rows, hold the rows that decide when to stop.
	fit, hold []int
}

// train returns the network that performs best on a tenth of the rows. rng draws them,
// and they are not used for training.
func train(x *matrix, l *lesson, rng *rand.Rand, log io.Writer) *network {
	t := &trainer{x: x, lesson: l, rng: rng, net: newNetwork(x.cols, hiddenUnits, l.outputs, rng)}
	order := rng.Perm(x.rows)
	t.hold, t.fit = order[:x.rows/10], order[x.rows/10:]
	if len(t.hold) == 0 {
		t.hold = t.fit
	}
	work := float64(len(t.net.weights)) * float64(x.rows) * 3
	epochs := int(max(1, min(maxEpochs, maxWork/work)))
	opt := newAdam(len(t.net.weights), learningRate, weightDecay)
	best, bestLoss, bestEpoch := slices.Clone(t.net.weights), math.Inf(1), 0
	for epoch := 1; epoch <= epochs && epoch-bestEpoch <= patience; epoch++ {
		// A rate that falls to a tenth lets the weights settle at the end.
		opt.rate = learningRate * (1 - 0.9*float64(epoch-1)/float64(epochs))
		fitLoss := t.epoch(opt)
		holdLoss := t.holdLoss()
		fmt.Fprintf(log, "epoch %d: loss %.4f, on held-out rows %.4f\n", epoch, fitLoss, holdLoss)
		if holdLoss < bestLoss {
			bestLoss, bestEpoch = holdLoss, epoch
			copy(best, t.net.weights)
		}
	}
	copy(t.net.weights, best)
	fmt.Fprintf(log, "kept epoch %d\n", bestEpoch)
	return t.net
}

// epoch trains on every row once, in a new order.
func (t *trainer) epoch(opt *adam) float64 {
	t.rng.Shuffle(len(t.fit), func(i, j int) { t.fit[i], t.fit[j] = t.fit[j], t.fit[i] })
	grad := make([]float64, len(t.net.weights))
	back := make([]float64, t.net.hidden)
	y := make([]float64, t.net.out)
	total := 0.0
	for batch := range slices.Chunk(t.fit, batchRows) {
		clear(grad)
		for _, row := range batch {
			x := t.x.row(row)
			t.net.forward(x, y)
			total += t.lesson.loss(row, y)
			t.net.backward(x, y, grad, back)
		}
		for i := range grad {
			grad[i] /= float64(len(batch))
		}
		opt.step(t.net.weights, grad)
	}
	return total / float64(len(t.fit))
}

func (t *trainer) holdLoss() float64 {
	y := make([]float64, t.net.out)
	total := 0.0
	for _, row := range t.hold {
		t.net.forward(t.x.row(row), y)
		total += t.lesson.loss(row, y)
	}
	return total / float64(len(t.hold))
}

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
	top, sum := slices.Max(y), 0.0
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
