package winnow_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/winnow"
)

func write(t testing.TB, db *winnow.Database, source bool) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := db.Write(&out, source); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func database(t testing.TB, programs ...[]string) *winnow.Database {
	db := &winnow.Database{Method: winnow.Default, Common: winnow.DefaultCommon}
	for i, chunks := range programs {
		db.Documents = append(db.Documents, read(t, fmt.Sprintf("k%d.py", i), map[string]string{"kernel.py": join(chunks)}))
	}
	return db
}

func TestDatabaseIsTheSameBytes(t *testing.T) {
	a, b := newAuthor(1).program(), newAuthor(2).program()
	db := database(t, a, b)
	first := write(t, db, true)
	again, err := winnow.Read(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(again.Documents)
	if !bytes.Equal(first, write(t, again, true)) {
		t.Error("a database that was read and reordered is written differently")
	}
	code := read(t, "code", map[string]string{"main.py": join(a)})
	if d := cmp.Diff(winnow.NewComparer(db).Compare(code), winnow.NewComparer(again).Compare(code)); d != "" {
		t.Error(d)
	}
}

func TestWithoutSource(t *testing.T) {
	a := newAuthor(1).program()
	text := write(t, database(t, a), false)
	if bytes.Contains(text, []byte("groupby")) || bytes.Contains(text, []byte("v_1")) {
		t.Error("the database holds the code")
	}
	db, err := winnow.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m := winnow.NewComparer(db).Compare(read(t, "code", map[string]string{"main.py": join(a)})).Matches[0]
	if m.Copied != 1 || m.Longest.Theirs.Text != "" || m.Longest.Theirs.First == 0 || m.Longest.Ours.Text == "" {
		t.Errorf("%+v", m)
	}
}

func TestReadRefuses(t *testing.T) {
	good := string(write(t, database(t, newAuthor(1).program()), true))
	for name, text := range map[string]string{
		"empty":             "",
		"not JSON":          "x",
		"another format":    strings.Replace(good, winnow.Format, "other-1", 1),
		"no method":         strings.Replace(good, `"gram":20`, `"gram":0`, 1),
		"fewer documents":   strings.Replace(good, `"documents":1`, `"documents":2`, 1),
		"more documents":    strings.Replace(good, `"documents":1`, `"documents":0`, 1),
		"damaged tokens":    strings.Replace(good, `"tokens":"`, `"tokens":"AAAA`, 1),
		"negative number":   strings.Replace(good, `"documents":1`, `"documents":-1`, 1),
		"tokens no Base64":  strings.Replace(good, `"tokens":"`, `"tokens":"!`, 1),
		"distinct too high": strings.Replace(good, `"distinct":7`, `"distinct":70`, 1),
	} {
		if _, err := winnow.Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// TestBoilerplate puts the same helpers into all kernels: who has them, too, has
// copied nothing. In a database of two, the same helpers are a copy.
func TestBoilerplate(t *testing.T) {
	helpers := newAuthor(99).program()
	var programs [][]string
	for i := range uint64(6) {
		programs = append(programs, append(slices.Clone(helpers), newAuthor(i).program()...))
	}
	code := read(t, "code", map[string]string{"main.py": join(append(slices.Clone(helpers), newAuthor(50).program()...))})
	c := winnow.NewComparer(database(t, programs...)).Compare(code)
	for _, m := range c.Matches {
		if m.Suspicious() {
			t.Errorf("boilerplate is taken for a copy of %s: %+v", m.Document, m)
		}
	}
	if c.Common < 50 {
		t.Errorf("only %d fingerprints are boilerplate", c.Common)
	}
	few := winnow.NewComparer(database(t, programs[:2]...)).Compare(code)
	if len(few.Matches) == 0 || !few.Matches[0].Suspicious() {
		t.Error("a copy from one of two documents is not found")
	}
}

// TestGuarantees checks the guarantees: a common run of Gram + Window
// - 1 tokens is found, and one shorter than Gram is not.
func TestGuarantees(t *testing.T) {
	a := newAuthor(5)
	statement := func() string {
		return fmt.Sprintf("%s = %s.%s(%s)[%s]\n", a.name(), a.name(), pick(a, asked), a.name(), a.name())
	}
	piece := func(n int) string {
		var b strings.Builder
		for range n { // of 11 tokens
			b.WriteString(statement())
		}
		return b.String()
	}
	for range 50 {
		shared := piece(3) // 33 tokens
		db := &winnow.Database{Method: winnow.Default, Common: 1, Documents: []*winnow.Document{read(t, "k.py", map[string]string{"k.py": newAuthor(a.Uint64()).chunk() + shared + newAuthor(a.Uint64()).chunk()})}}
		code := read(t, "code", map[string]string{"c.py": newAuthor(a.Uint64()).chunk() + shared + newAuthor(a.Uint64()).chunk()})
		c := winnow.NewComparer(db).Compare(code)
		if len(c.Matches) == 0 || c.Matches[0].Longest.Tokens < 33 {
			t.Fatalf("33 common tokens are not found: %+v\n%s", c.Matches, shared)
		}
		for _, m := range c.Matches {
			if m.Longest.Tokens < winnow.Default.Gram {
				t.Fatalf("a run of %d tokens matches", m.Longest.Tokens)
			}
		}
	}
}

// TestTablesSayNothing compares settings and literals of unrelated code.
func TestTablesSayNothing(t *testing.T) {
	table := func(seed uint64) string {
		a := newAuthor(seed)
		var b strings.Builder
		b.WriteString("import numpy as np\nimport pandas as pd\nfrom a.b import c as d\n")
		for i := range 100 {
			fmt.Fprintf(&b, "NAME_%d = %s\n", i, a.literal())
		}
		b.WriteString("T = {\n")
		for range 100 {
			fmt.Fprintf(&b, "  %s: [%s, %s, %s],\n", a.literal(), a.literal(), a.literal(), a.literal())
		}
		return b.String() + "}\n"
	}
	db := &winnow.Database{Method: winnow.Default, Common: 1, Documents: []*winnow.Document{read(t, "k.py", map[string]string{"k.py": table(1)})}}
	if c := winnow.NewComparer(db).Compare(read(t, "code", map[string]string{"c.py": table(2)})); len(c.Matches) > 0 {
		t.Errorf("tables match: %+v", c.Matches)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"format":"mleflow-fingerprints-1","method":{"gram":20,"window":12,"distinct":7},"common":0.25,"documents":1}
{"name":"a","sha256":"","files":[{"name":"a.py","tokens":"","lines":["x"]}]}`))
	f.Add(write(f, database(f, newAuthor(1).program()), true))
	code := read(f, "code", map[string]string{"main.py": join(newAuthor(1).program())})
	f.Fuzz(func(t *testing.T, data []byte) {
		db, err := winnow.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		winnow.NewComparer(db).Compare(code)
	})
}
