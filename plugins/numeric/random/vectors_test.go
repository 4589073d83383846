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
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// The oracle: what numpy and CPython answered. testdata/vectors.py says how a
// result is packed; the file's made_with names the versions.
type vectorCase struct {
	Source string
	Seed   string
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
	case "Generator":
		seed, err := strconv.ParseUint(c.Seed, 10, 64)
		fatal(t, err)
		return random.NewGenerator(seed)
	case "Python":
		seed, err := strconv.ParseInt(c.Seed, 10, 64)
		fatal(t, err)
		return random.NewPython(seed)
	}
	t.Fatalf("unknown source %q", c.Source)
	return nil
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
	case *random.RandomState:
		return answerState(s, c)
	case *random.Generator:
		return packFloats(c.int(2), func() float64 { return s.Uniform(c.float(0), c.float(1)) }), nil
	}
	return packed{}, fmt.Errorf("no such source %T", source)
}

func answerState(s *random.RandomState, c vectorCall) (packed, error) {
	switch c.Call {
	case "permutation":
		return packInts(s.Permutation(c.int(0)), nil)
	case "integers":
		return packInts(s.Integers(c.int64(0), c.int64(1), c.int(2)))
	case "uniform":
		return packFloats(c.int(2), func() float64 { return s.Uniform(c.float(0), c.float(1)) }), nil
	}
	return packed{}, fmt.Errorf("no such call")
}

func answerPython(s *random.Python, c vectorCall) (packed, error) {
	n := c.int(0)
	switch c.Call {
	case "permutation":
		return packInts(random.Permutation(s, n), nil)
	case "bits":
		return packInts(each(len(c.Args), func(i int) (int64, error) { return int64(s.Bits(c.int(i))), nil }))
	case "below":
		return packInts(each(c.int(1), func(int) (int64, error) { return int64(s.Below(uint64(n))), nil }))
	case "choice":
		return packInts(each(c.int(1), func(int) (int64, error) { v, err := s.Choice(n); return int64(v), err }))
	case "sample":
		return packInts(s.Sample(n, c.int(1)))
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

func packInts[T int | int64](x []T, err error) (packed, error) {
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
