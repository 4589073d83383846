package pyjson

import "testing"

// FuzzParse looks for panics and checks that what is written reads back as
// the same text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\ud83d"],"a":null}`, "[NaN,-Infinity,1e400]", `"\u12`, "-", "[[[[", "{\"a\"", "12345678901234567890123"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := Parse(in)
		if err != nil {
			return
		}
		for _, s := range []Style{{}, {Indent: 3, SortKeys: true}} {
			a := written(v, s)
			w, err := Parse([]byte(a))
			if err != nil {
				t.Fatalf("%q: %v", a, err)
			}
			if b := written(w, s); a != b {
				t.Fatalf("wrote %q, then %q", a, b)
			}
		}
	})
}
