package ujson

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// Files of answers of pandas to compare with; the first line of each says how
// it was made. For more, run testdata/make.py with other counts and seeds:
//
//	python testdata/make.py values 100000 7 > values.jsonl
//	go test ./plugins/data/table/ujson -values values.jsonl
var (
	valueFile = flag.String("values", "testdata/values.jsonl", "what ujson reads and writes")
	frameFile = flag.String("frames", "testdata/frames.jsonl", "what read_json and to_json make of records")
)

// cases reads the lines of a file of answers, but the first.
func cases[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<22)
	for s.Scan() {
		var c T
		v, err := pyjson.Parse(s.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := fill(v, &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if len(out) < 100 {
		t.Fatalf("only %d cases", len(out))
	}
	return out[1:]
}

// fill reads a value into c. Lone surrogates, which encoding/json replaces,
// stay in their three-byte form.
func fill(v pyjson.Value, c any) error {
	switch c := c.(type) {
	case *valueCase:
		for name, to := range map[string]*string{"in": &c.In, "read": &c.Read, "write": &c.Write} {
			m, _ := v.Get(name)
			*to = m.Text()
		}
		return nil
	}
	return json.Unmarshal(python(nil, v), c)
}

type valueCase struct{ In, Read, Write string }

func TestValues(t *testing.T) {
	for i, c := range cases[valueCase](t, *valueFile) {
		var got valueCase
		got.In = c.In
		if v, err := parse([]byte(c.In)); err == nil {
			got.Read = string(canon(nil, v))
			if text, err := Append(nil, v); err == nil {
				got.Write = string(text)
			}
		}
		if got != c {
			t.Errorf("line %d: %q\nwant %s\n     %s\ngot  %s\n     %s", i+2, c.In, c.Read, c.Write, got.Read, got.Write)
		}
	}
}

// canon spells a value so that no bit is lost.
func canon(b []byte, v pyjson.Value) []byte {
	switch v.Kind() {
	case pyjson.Float:
		f, _ := v.Float()
		if math.IsNaN(f) {
			return append(b, "nan"...)
		}
		return fmt.Appendf(b, "f%016x", math.Float64bits(f))
	case pyjson.Array, pyjson.Object:
		brackets := "[]"
		if v.Kind() == pyjson.Object {
			brackets = "{}"
		}
		b = append(b, brackets[0])
		for i, x := range v.Items() {
			if i > 0 {
				b = append(b, ',')
			}
			if v.Kind() == pyjson.Object {
				b = append(python(b, pyjson.OfString(v.Names()[i])), ':')
			}
			b = canon(b, x)
		}
		return append(b, brackets[1])
	}
	return python(b, v)
}

type frameCase struct {
	Lines []string
	Out   string
	Texts map[string][]string
}

func TestFrames(t *testing.T) {
	for i, c := range cases[frameCase](t, *frameFile) {
		columns, records, err := readAll(c.Lines)
		if err != nil {
			t.Fatalf("line %d: %v", i+2, err)
		}
		var out []byte
		for _, r := range records {
			if out, err = columns.AppendLine(out, r, nil); err != nil {
				t.Fatalf("line %d: %v", i+2, err)
			}
		}
		texts := map[string][]string{}
		for name := range c.Texts {
			if err := columns.Texts(name); err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				v, err := columns.Value(r, name)
				if err != nil {
					t.Fatal(err)
				}
				texts[name] = append(texts[name], v.Text())
			}
		}
		if diff := cmp.Diff(c, frameCase{c.Lines, string(out), texts}); diff != "" {
			t.Errorf("line %d: %s\n(-want +got):\n%s", i+2, strings.Join(c.Lines, "\n"), diff)
		}
	}
}

// readAll reads lines in two lots and merges their columns.
func readAll(lines []string) (*Columns, []*Record, error) {
	var lots [2]Columns
	records := make([]*Record, len(lines))
	for i, line := range lines {
		records[i] = &Record{}
		if err := records[i].Read([]byte(line)); err != nil {
			return nil, nil, err
		}
		lots[2*i/len(lines)].Add(records[i])
	}
	lots[0].Merge(&lots[1])
	return &lots[0], records, nil
}

// FuzzParse looks for panics, and checks that what is written is read and
// written as the same text again, and that a line skimmed is a line read.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\ud83d"],"a":null,}`, "[NaN,-Infinity,1e400]", `"\u12`, "-", "[[[[", `{"a"`, "99999999999999999999", `{"n":"1_0","x":-}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := parse(in)
		var r Record
		if skimmed := r.Read(in); (skimmed == nil) != (err == nil) && v.Kind() == pyjson.Object {
			t.Fatalf("%q: %v, skimmed: %v", in, err, skimmed)
		}
		if err != nil {
			return
		}
		a, err := Append(nil, v)
		if err != nil {
			return
		}
		if _, err := pyjson.Parse(a); err != nil {
			t.Fatalf("%q: %v", a, err)
		}
	})
}

// python appends a value as Python writes it.
func python(b []byte, v pyjson.Value) []byte {
	w := bytes.NewBuffer(b)
	_ = pyjson.Write(w, v, pyjson.Style{})
	return w.Bytes()
}

// parse reads a text that is one value.
func parse(data []byte) (pyjson.Value, error) {
	p := parser{data: data}
	err := p.valid()
	if err != nil {
		return pyjson.Value{}, p.fault(err)
	}
	v, err := p.value()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return pyjson.Value{}, p.fault(err)
	}
	return v, nil
}
