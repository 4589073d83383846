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

// The oracle: what scikit-learn answered. testdata/vectors.py says
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
	Shuffle     *bool
	Stratify    []any
}

type packed struct {
	Rows, Head, Tail []int
	Len              int
	SHA256           string
}

func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vectorCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 1000 {
		t.Fatalf("only %d cases read", len(file.Cases))
	}
	for _, c := range file.Cases {
		if diff := c.run(); diff != "" {
			args, _ := json.Marshal(c.Args)
			t.Errorf("%s: %s", args, diff)
		}
	}
}

// run splits and says what differs.
func (c vectorCase) run() string {
	train, test, err := TrainTestSplit(c.Args.N, c.Args.decode())
	if c.Error != (err != nil) {
		return fmt.Sprintf("the library fails: %v; ours: %v", c.Error, err)
	}
	if c.Error {
		return ""
	}
	return cmp.Diff([2]packed{*c.Train, *c.Test}, [2]packed{pack(train), pack(test)})
}

func (a vectorArgs) decode() Options {
	o := Options{
		Test: sizeOf(a.TestSize), Train: sizeOf(a.TrainSize), Seed: a.RandomState,
		Unshuffled: a.Shuffle != nil && !*a.Shuffle,
	}
	if a.Stratify != nil {
		o.Stratify = labels(a.N, int(a.Stratify[0].(float64)), a.Stratify[1].(bool))
	}
	return o
}

// sizeOf is a size, unset if there is none.
func sizeOf(v *float64) Size {
	if v == nil {
		return 0
	}
	return Size(*v)
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
