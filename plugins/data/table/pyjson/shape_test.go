package pyjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object returns the text of an object of n members, the first with a value
// of its own.
func object(n, value int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"m%d": %d`, i, value*1000+i)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// TestSharedShapes reads objects that share some of their names: each keeps
// its own names and values, whatever was read before.
func TestSharedShapes(t *testing.T) {
	var texts []string
	for i, n := range []int{0, 3, 1, 3, 16, 17, 63, 64, 65, 66, 64, 65, 100, 65, 3, 200, 66, 17, 0} {
		texts = append(texts, object(n, i))
	}
	for i := range 6000 {
		texts = append(texts, fmt.Sprintf(`{"m0": %d, "own%d": %d, "m1": [%d]}`, i, i, i, i))
	}
	texts = append(texts, `{"b": 1, "a": 2}`, `{"a": 1, "b": 2}`, `{"b": 3, "a": {"b": 4, "a": 5}}`)
	in := "[" + strings.Join(texts, ", ") + "]"
	v, err := Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(v, Style{}); got != in {
		t.Error("what was written is not what was read")
	}
	for i, item := range v.Items() {
		var want map[string]any
		if err := json.Unmarshal([]byte(texts[i]), &want); err != nil {
			t.Fatal(err)
		}
		for name := range want {
			if _, ok := item.Get(name); !ok || item.Len() != len(want) {
				t.Fatalf("object %d has %d members, %q among them: %v", i, item.Len(), name, ok)
			}
		}
	}
}

// TestNamesTwice: a name that comes twice has its first place and its last
// value, in small objects and large ones, also when the same names follow.
func TestNamesTwice(t *testing.T) {
	for _, n := range []int{1, 15, 16, 63, 64, 65, 90} {
		twice := strings.TrimSuffix(object(n, 1), "}") + `, "m0": 7, "z": 8}`
		v, err := Parse([]byte("[" + strings.Repeat(twice+",", 3) + object(n, 2) + "]"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(strings.TrimSuffix(object(n, 1), "}"), "1000", "7", 1) + `, "z": 8}`
		for i := range 3 {
			if diff := cmp.Diff(want, written(v.Items()[i], Style{})); diff != "" {
				t.Errorf("%d members, object %d (-want +got):\n%s", n, i, diff)
			}
		}
		if diff := cmp.Diff(object(n, 2), written(v.Items()[3], Style{})); diff != "" {
			t.Errorf("%d members, the object after (-want +got):\n%s", n, diff)
		}
	}
}

// TestChanges: With, WithAll, Select and Without leave the old object as it is.
func TestChanges(t *testing.T) {
	v, err := Parse([]byte(`{"a": 1, "b": "x", "c": [2]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		got        Value
	}{
		{"with in place", `{"a": 1, "b": null, "c": [2]}`, v.WithAll(Member{"b", Value{}})},
		{"with at the end", `{"a": 1, "b": "x", "c": [2], "d": 3}`, v.WithAll(Member{"d", OfInt(3)})},
		{"with all", `{"a": 4, "b": "x", "c": [2], "d": 6}`, v.WithAll(Member{"d", OfInt(3)}, Member{"a", OfInt(4)}, Member{"d", OfInt(6)})},
		{"with all of a new one", `{"x": 2, "y": 3}`, OfObject(Member{"x", OfInt(1)}, Member{"y", OfInt(3)}, Member{"x", OfInt(2)})},
		{"select", `{"c": [2], "a": 1}`, v.Select("c", "none", "a", "c")},
		{"without", `{"b": "x"}`, v.Without("c", "none", "a")},
		{"select of no object", `{}`, OfInt(3).Select("a")},
		{"the old one", `{"a": 1, "b": "x", "c": [2]}`, v},
	} {
		if got := written(c.got, Style{}); got != c.want {
			t.Errorf("%s: want %s, got %s", c.name, c.want, got)
		}
	}
}

// TestNumbers: integers keep every digit and say what they fit.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text      string
		int, uint bool
	}{
		{"0", true, true}, {"-1", true, false}, {"9223372036854775807", true, true}, {"9223372036854775808", false, true},
		{"18446744073709551615", false, true}, {"18446744073709551616", false, false}, {"-9223372036854775808", true, false}, {"-9223372036854775809", false, false},
	} {
		v, err := Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		_, isInt := v.Int()
		n, isUint := v.Uint()
		if got := written(v, Style{}); isInt != c.int || isUint != c.uint || got != c.text {
			t.Errorf("%s: int %v, uint %v, written %s", c.text, isInt, isUint, got)
		}
		if got := written(OfUint(n), Style{}); isUint && got != c.text {
			t.Errorf("OfUint(%d) is written %s", n, got)
		}
	}
}

// TestWriteInPieces: a text that is longer than what is written at once loses
// nothing, in whatever style.
func TestWriteInPieces(t *testing.T) {
	text := "[" + strings.Repeat(object(10, 1)+`, ["x", {}, []], `, 12000) + "0]"
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Style{{}, {Indent: 4, SortKeys: true}, {Indent: 70}} {
		out := written(v, s)
		again, err := Parse([]byte(out))
		if err != nil || written(again, Style{}) != text || s == (Style{}) && out != text {
			t.Errorf("%+v: %d bytes written, not the same (%v)", s, len(out), err)
		}
	}
}
