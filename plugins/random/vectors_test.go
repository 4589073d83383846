package random_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/random"
)

// The oracle: what numpy and CPython answered. testdata/vectors.py says how a
// result is packed; the file's made_with names the versions.
type vectorCase struct {
	Source string
	Seed   string
	Key    []uint32
	Repeat []any
	Calls  []vectorCall
}

type vectorCall struct {
	Call string
	Args []json.Number
	Want packed
}

type packed struct {
	Len    int
	SHA256 string
	Float  bool
	Head   []json.Number
	Tail   []json.Number
}

func loadVectors(t *testing.T) []vectorCase {
	t.Helper()
	f, err := os.Open("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var file struct {
		MadeWith map[string]string `json:"made_with"`
		Cases    []vectorCase
	}
	dec := json.NewDecoder(f)
	dec.UseNumber()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

func TestVectors(t *testing.T) {
	for _, c := range loadVectors(t) {
		name := c.Source + "/" + c.Seed
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, c)
			for i, call := range c.Calls {
				at := fmt.Sprintf("call %d, %s%v", i, call.Call, call.Args)
				got, err := answer(source, call)
				if err != nil {
					t.Fatalf("%s: %v", at, err)
				}
				if diff := cmp.Diff(call.Want, got); diff != "" {
					t.Fatalf("%s: (-library +ours)\n%s", at, diff)
				}
			}
		})
	}
}

func newSource(t *testing.T, c vectorCase) any {
	t.Helper()
	switch c.Source {
	case "RandomState":
		seed, err := strconv.ParseUint(c.Seed, 10, 32)
		fatal(t, err)
		return random.NewRandomState(uint32(seed))
	case "RandomStateKey":
		return random.NewRandomStateKey(keyOf(t, c))
	case "Generator":
		seed, err := strconv.ParseUint(c.Seed, 10, 64)
		fatal(t, err)
		return random.NewGenerator(seed)
	case "Python":
		seed, err := strconv.ParseInt(c.Seed, 10, 64)
		fatal(t, err)
		return random.NewPython(seed)
	case "PythonText":
		if c.Repeat != nil {
			n, err := c.Repeat[1].(json.Number).Int64()
			fatal(t, err)
			return random.NewPythonText(strings.Repeat(c.Repeat[0].(string), int(n)))
		}
		return random.NewPythonText(c.Seed)
	}
	t.Fatalf("unknown source %q", c.Source)
	return nil
}

// keyOf is the case's key; a long one, 0 … n-1, is stored as its length.
func keyOf(t *testing.T, c vectorCase) []uint32 {
	t.Helper()
	if len(c.Key) > 0 {
		return c.Key
	}
	n, err := strconv.Atoi(c.Seed)
	fatal(t, err)
	key := make([]uint32, n)
	for i := range key {
		key[i] = uint32(i)
	}
	return key
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func answer(source any, c vectorCall) (packed, error) {
	switch s := source.(type) {
	case *random.Python:
		return answerPython(s, c)
	case numpy:
		return answerNumpy(s, c)
	}
	return packed{}, fmt.Errorf("no such source %T", source)
}

// numpy is what RandomState and Generator have in common.
type numpy interface {
	random.Source
	Permutation(n int) []int
	Float64() float64
	Uniform(low, high float64) float64
	Integers(low, high int64, n int) ([]int64, error)
	Choice(n, k int, replace bool) ([]int, error)
	WeightedChoice(p []float64, k int, replace bool) ([]int, error)
}

func answerNumpy(s numpy, c vectorCall) (packed, error) {
	n := c.int(0)
	switch c.Call {
	case "permutation":
		return packInts(s.Permutation(n), nil)
	case "shuffle":
		return packInts(random.Permutation[uint32](s, n), nil)
	case "integers":
		return packInts(s.Integers(c.int64(0), c.int64(1), c.int(2)))
	case "random":
		return packFloats(n, s.Float64), nil
	case "uniform":
		return packFloats(c.int(2), func() float64 { return s.Uniform(c.float(0), c.float(1)) }), nil
	case "choice", "choice_replace":
		return packInts(s.Choice(n, c.int(1), c.Call == "choice_replace"))
	case "weighted", "weighted_replace":
		return packInts(s.WeightedChoice(weights(n, c.int(1)), c.int(2), c.Call == "weighted_replace"))
	}
	return packed{}, fmt.Errorf("no such call")
}

func answerPython(s *random.Python, c vectorCall) (packed, error) {
	n := c.int(0)
	switch c.Call {
	case "permutation":
		return packInts(random.Permutation[int64](s, n), nil)
	case "bits":
		return packInts(each(len(c.Args), func(i int) (int64, error) { return int64(s.Bits(c.int(i))), nil }))
	case "below":
		return packInts(each(c.int(1), func(int) (int64, error) { return int64(s.Below(uint64(n))), nil }))
	case "integers":
		return packInts(each(c.int(2), func(int) (int64, error) { return s.Integer(c.int64(0), c.int64(1)) }))
	case "choice":
		return packInts(each(c.int(1), func(int) (int64, error) { v, err := s.Choice(n); return int64(v), err }))
	case "sample":
		return packInts(s.Sample(n, c.int(1)))
	case "random":
		return packFloats(n, s.Float64), nil
	case "uniform":
		return packFloats(c.int(2), func() float64 { return s.Uniform(c.float(0), c.float(1)) }), nil
	case "choice_replace":
		return packInts(s.Choices(n, c.int(1)))
	case "weighted_replace":
		return packInts(s.WeightedChoices(weights(n, c.int(1)), c.int(2)))
	}
	return packed{}, fmt.Errorf("no such call")
}

func (c vectorCall) int(i int) int { return int(c.int64(i)) }

func (c vectorCall) int64(i int) int64 {
	v, err := c.Args[i].Int64()
	if err != nil {
		return 0 // a float argument, read by float
	}
	return v
}

func (c vectorCall) float(i int) float64 {
	v, err := c.Args[i].Float64()
	if err != nil {
		return math.NaN()
	}
	return v
}

// weights are the probabilities of the same name in vectors.py.
func weights(n, zero int) []float64 {
	w := make([]float64, n)
	total := 0.0
	for i := range w {
		if i >= zero {
			w[i] = 1 + float64(i*7919%13)
		}
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	return w
}

func each(n int, draw func(i int) (int64, error)) ([]int64, error) {
	out := make([]int64, n)
	for i := range out {
		v, err := draw(i)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func packInts[T random.Index](x []T, err error) (packed, error) {
	texts := make([]string, len(x))
	words := make([]uint64, len(x))
	for i, v := range x {
		texts[i], words[i] = strconv.FormatInt(int64(v), 10), uint64(int64(v))
	}
	return pack(texts, words), err
}

func packFloats(n int, draw func() float64) packed {
	texts := make([]string, n)
	words := make([]uint64, n)
	for i := range n {
		v := draw()
		texts[i], words[i] = pythonFloat(v), math.Float64bits(v)
	}
	p := pack(texts, words)
	p.Float = n > 0
	return p
}

// pythonFloat is the shortest text that reads back as v, as Python spells it
// for the sizes that occur here.
func pythonFloat(v float64) string {
	if a := math.Abs(v); a < 1e-4 {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func pack(texts []string, words []uint64) packed {
	hash := sha256.New()
	for _, w := range words {
		hash.Write(binary.LittleEndian.AppendUint64(nil, w))
	}
	p := packed{Len: len(words), SHA256: hex.EncodeToString(hash.Sum(nil))[:32], Head: []json.Number{}}
	for _, s := range texts[:min(2, len(texts))] {
		p.Head = append(p.Head, json.Number(s))
	}
	if len(texts) > 2 {
		for _, s := range texts[len(texts)-2:] {
			p.Tail = append(p.Tail, json.Number(s))
		}
	}
	return p
}
