package split

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The oracle: what scikit-learn and pandas answered. testdata/vectors.py says
// how parts are packed; the file's made_with names the versions.
type vectorCase struct {
	Call        string
	Args        vectorArgs
	Train, Test *packed
	Error       bool
}

type vectorArgs struct {
	N           int
	RandomState int64    `json:"random_state"`
	TestSize    *float64 `json:"test_size"`
	TrainSize   *float64 `json:"train_size"`
	Share       bool     // the sizes are shares even where they are whole
	Shuffle     *bool
	Stratify    []any
	Groups      []any
	Appearance  bool // groups are numbered by appearance
	Few         int
	Folds, Fold int
	Weights     []any
	Replace     bool
}

type packed struct {
	Rows, Head, Tail []int
	Len              int
	SHA256           string
}

type vectorFile struct {
	Sums []struct {
		N   int
		Sum float64
	}
	Cases []vectorCase
}

func loadVectors(t *testing.T) vectorFile {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file vectorFile
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPairwiseSum(t *testing.T) {
	sums := loadVectors(t).Sums
	if len(sums) == 0 {
		t.Fatal("no sums read")
	}
	for _, c := range sums {
		x := make([]float64, c.N)
		for i, v := range labels(c.N, 1009, false) {
			x[i] = float64(float64(v)*0.1) + float64(1e-9*float64(v%3))
		}
		if got := pairwiseSum(x); got != c.Sum {
			t.Errorf("sum of %d: got %v, numpy %v", c.N, got, c.Sum)
		}
	}
}

func TestVectors(t *testing.T) {
	file := loadVectors(t)
	if len(file.Cases) < 2000 {
		t.Fatalf("only %d cases read", len(file.Cases))
	}
	for _, c := range file.Cases {
		if diff := c.run(); diff != "" {
			args, _ := json.Marshal(c.Args)
			t.Errorf("%s %s: %s", c.Call, args, diff)
		}
	}
}

// run calls the splitter and says what differs.
func (c vectorCase) run() string {
	s, err := Find(c.Call)
	if err != nil {
		return err.Error()
	}
	parts, err := s.Split(c.Args.N, c.Args.decode())
	if c.Error != (err != nil) {
		return fmt.Sprintf("the library fails: %v; ours: %v", c.Error, err)
	}
	if c.Error {
		return ""
	}
	return cmp.Diff([2]packed{*c.Train, *c.Test}, [2]packed{pack(parts.Train), pack(parts.Test)})
}

func (a vectorArgs) decode() Args {
	out := Args{
		Test: a.size(a.TestSize), Train: a.size(a.TrainSize), Seed: a.RandomState,
		Unshuffled: a.Shuffle != nil && !*a.Shuffle,
		Stratify:   a.codes(a.Stratify), Groups: a.codes(a.Groups),
		Few: a.Few, Folds: a.Folds, Fold: a.Fold, Replace: a.Replace,
	}
	if a.Weights != nil {
		for _, v := range labels(a.N, int(a.Weights[0].(float64)), false) {
			out.Weights = append(out.Weights, float64(v)*a.Weights[1].(float64))
		}
	}
	return out
}

func (a vectorArgs) size(v *float64) Size {
	switch {
	case v == nil:
		return Size{}
	case a.Share:
		return Share(*v)
	default:
		return SizeOf(*v)
	}
}

func (a vectorArgs) codes(of []any) []int32 {
	if of == nil {
		return nil
	}
	column := labels(a.N, int(of[0].(float64)), of[1].(bool))
	if a.Appearance {
		return Appearance(column)
	}
	return Sorted(column)
}

// labels is the function of the same name in vectors.py.
func labels(n, k int, skew bool) []int {
	out := make([]int, n)
	for i := range out {
		x := int(uint32(i*2654435761+12345) >> 7)
		out[i] = x % k
		if skew {
			out[i] = out[i] * (x / k % k) / k
		}
	}
	return out
}

func pack(rows []int) packed {
	if len(rows) <= 24 {
		return packed{Rows: append([]int{}, rows...)}
	}
	hash := sha256.New()
	for _, r := range rows {
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(r)))
	}
	n := len(rows)
	return packed{Head: rows[:2], Tail: rows[n-2:], Len: n, SHA256: hex.EncodeToString(hash.Sum(nil))[:32]}
}
