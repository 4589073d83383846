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
