package digest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
)

// From FIPS 180-4's examples, as sha256sum (coreutils 9.1) prints it.
const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestContentID(t *testing.T) {
	id := digest.Of([]byte("abc"))
	if id.String() != abc || id.Short() != abc[:12] || id.IsZero() {
		t.Errorf("id %s, short %s", id, id.Short())
	}
	back, err := digest.ParseContentID(abc)
	if err != nil || back != id {
		t.Errorf("ParseContentID = %s, %v", back, err)
	}
	w := digest.NewWriter()
	got, n, err := digest.Copy(w, strings.NewReader("abc"))
	if got != id || n != 3 || err != nil || w.ID() != id || w.Size() != 3 {
		t.Errorf("Copy = %s, %d, %v; writer %s, %d", got, n, err, w.ID(), w.Size())
	}
	for _, text := range []string{"", abc[1:], abc + "0", "x" + abc[1:]} {
		if _, err := digest.ParseContentID(text); err == nil {
			t.Errorf("ParseContentID(%q) succeeded", text)
		}
		if _, err := digest.ParseActionID(text); err == nil {
			t.Errorf("ParseActionID(%q) succeeded", text)
		}
	}
}

func TestJSON(t *testing.T) {
	type ids struct {
		C digest.ContentID
		A digest.ActionID
	}
	want := ids{C: digest.Of([]byte("abc"))}
	data, err := json.Marshal(want)
	if err != nil || string(data) != `{"C":"`+abc+`","A":""}` {
		t.Fatalf("Marshal = %s, %v", data, err)
	}
	var got ids
	if err := json.Unmarshal(data, &got); err != nil || got != want {
		t.Errorf("Unmarshal = %+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"C":"abc"}`), &got); err == nil {
		t.Error("a short digest was accepted")
	}
}

// The sum was made with Python 3.11's hashlib from the encoding that the
// package describes: a header, then every label and value after its length.
func TestHasher(t *testing.T) {
	h := digest.NewHasher("grade", "2")
	h.Int("seed", -7)
	h.Bool("final", true)
	const want = "1d00ac868c2032a223e510fb607b99aca697074b66c5ee464064f77dbddd64b9"
	if got := h.Sum().String(); got != want {
		t.Errorf("Sum = %s, want %s", got, want)
	}
	fields := []digest.Field{{Label: "kind", Value: "grade"}, {Label: "kind version", Value: "2"}, {Label: "seed", Value: "-7"}, {Label: "final", Value: "true"}}
	if diff := cmp.Diff(fields, h.Fields()); diff != "" {
		t.Error(diff)
	}
}

// Moving a byte between labels, values and fields changes the sum.
func TestHasherIsUnambiguous(t *testing.T) {
	seen := make(map[digest.ActionID][]string)
	for _, fields := range [][]string{
		{}, {"", ""}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {"a", "", "b", ""}, {"", "a", "", "b"}, {"a", "b", "", ""},
		{"a\x01b", ""}, {"a", "\x01b"}, {strings.Repeat("a", 127), "a"}, {strings.Repeat("a", 128), ""},
	} {
		h := digest.NewHasher("k", "1")
		for i := 0; i < len(fields); i += 2 {
			h.String(fields[i], fields[i+1])
		}
		if other, ok := seen[h.Sum()]; ok {
			t.Errorf("%q and %q have one sum", fields, other)
		}
		seen[h.Sum()] = fields
	}
}

func TestWriterContinues(t *testing.T) {
	data := bytes.Repeat([]byte("some text "), 1000)
	for _, cut := range []int{0, 1, 63, 64, 5000, len(data)} {
		first := digest.NewWriter()
		_, _ = first.Write(data[:cut])
		state, err := first.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		second := digest.NewWriter()
		if err := second.UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
		_, _ = second.Write(data[cut:])
		if second.ID() != digest.Of(data) || second.Size() != int64(len(data)) {
			t.Errorf("cut at %d: %s of %d bytes", cut, second.ID(), second.Size())
		}
		if err := second.UnmarshalBinary(state[:len(state)-1]); err == nil {
			t.Error("a short state was accepted")
		}
	}
}
