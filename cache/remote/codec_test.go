package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// The written format: these texts must stay readable for ever.
const (
	closureText = "mleflow closure 1\n" +
		"tree 30 2 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\n" +
		"pack 123 4 3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d\n" +
		"large 1 300000\n"
	packText = "mleflow pack 1\n" +
		"1 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\n" +
		"0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n\n"
)

func sampleClosure() *closure {
	return &closure{
		root:  cache.Ref{Kind: cache.Tree, ID: digest.Of([]byte("a")), Size: 30, Files: 2},
		packs: []packRef{{id: digest.Of([]byte("b")), bytes: 123, objects: 4}}, largeObjects: 1, largeBytes: 300000,
	}
}

func TestFormatIsAsWritten(t *testing.T) {
	c := sampleClosure()
	want := fmt.Sprintf("%send %s\n", closureText, digest.Of([]byte(closureText)))
	if got := string(c.encode()); got != want {
		t.Errorf("closure:\n%s", cmp.Diff(want, got))
	}
	index, id := encodeIndex([]object{{digest.Of([]byte("a")), 1}, {digest.Of(nil), 0}})
	if string(index) != packText || id != digest.Of([]byte(packText)) {
		t.Errorf("pack:\n%s", cmp.Diff(packText, string(index)))
	}
}

func sampleRecord() *cache.Record {
	h := digest.NewHasher("kind", "1")
	h.String("text", "ü\n\"")
	return &cache.Record{
		Action: h.Sum(), Address: `step.kind.name["a/b"]`, Kind: "kind", Fields: h.Fields(), Run: "run", StartedUnixMilli: -1, DurationMillis: 1 << 60,
		Outputs: cache.Outputs{"n": {JSON: []byte(`{"x":[1,2,"\n"]}`)}, "t": {Ref: sampleClosure().root}},
	}
}

// TestEveryBitCounts flips every bit of what checks itself.
func TestEveryBitCounts(t *testing.T) {
	c, rec := sampleClosure(), sampleRecord()
	data, err := encodeRecord(rec)
	if err != nil {
		t.Fatal(err)
	}
	index, id := encodeIndex([]object{{digest.Of([]byte("a")), 1}})
	for name, tt := range map[string]struct {
		data []byte
		read func([]byte) (any, error)
		want any
	}{
		"record":  {data, func(b []byte) (any, error) { return decodeRecord(rec.Action, b) }, rec},
		"closure": {c.encode(), func(b []byte) (any, error) { return decodeClosure(c.root, b) }, c},
		"pack": {index, func(b []byte) (any, error) {
			objects, _, err := readIndex(bufio.NewReader(bytes.NewReader(b)), id)
			return objects, err
		}, []object{{digest.Of([]byte("a")), 1}}},
	} {
		got, err := tt.read(bytes.Clone(tt.data))
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(closure{}, packRef{}, object{})); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		for i := range tt.data {
			for bit := range 8 {
				bad := bytes.Clone(tt.data)
				bad[i] ^= 1 << bit
				if got, err := tt.read(bad); !errors.Is(err, cache.ErrCorrupt) {
					t.Fatalf("%s: bit %d of byte %d: %v, %v", name, bit, i, got, err)
				}
			}
			if _, err := tt.read(tt.data[:i]); !errors.Is(err, cache.ErrCorrupt) {
				t.Fatalf("%s: the first %d bytes: %v", name, i, err)
			}
		}
	}
	other := c.root
	other.Size++
	if _, err := decodeClosure(other, c.encode()); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("a closure of another tree: %v", err)
	}
	if _, err := decodeRecord(digest.ActionID{1}, data); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("a record of another action: %v", err)
	}
}

// TestFieldsAreThoseOfTheKey: who may write to a remote cache stores a record under an
// honest key with another condition, such as a better isolation. It is a miss.
func TestFieldsAreThoseOfTheKey(t *testing.T) {
	for name, forge := range map[string]func(*cache.Record){
		"changed": func(r *cache.Record) { r.Fields[2].Value = "other" },
		"removed": func(r *cache.Record) { r.Fields = nil },
		"added": func(r *cache.Record) {
			r.Fields = append(r.Fields, digest.Field{Label: "condition.isolation", Value: "container"})
		},
	} {
		rec := sampleRecord()
		forge(rec)
		data, err := encodeRecord(rec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeRecord(rec.Action, data); !errors.Is(err, cache.ErrCorrupt) {
			t.Errorf("%s: %v, want cache.ErrCorrupt", name, err)
		}
	}
}
