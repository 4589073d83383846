package site

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
)

// csvOf is a submission of rows that a function gives.
func csvOf(rows int, value func(i int) string) string {
	var b strings.Builder
	b.WriteString("id,y\n")
	for i := range rows {
		fmt.Fprintf(&b, "row-%d,%s\n", i, value(i))
	}
	return b.String()
}

func sketched(text string) *Sketch {
	return &Sketch{File: digest.Of([]byte(text)).String(), Rows: sample(strings.NewReader(text))}
}

// TestNear compares submissions of strangers, of copies, and of copies that were
// disguised.
func TestNear(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	probability, label := make([]float64, 2000), make([]int, 2000)
	for i := range probability {
		probability[i], label[i] = random.Float64(), random.IntN(2)
	}
	float := func(i int) string { return fmt.Sprint(probability[i]) }
	class := func(i int) string { return fmt.Sprint(label[i]) }
	lines := strings.SplitAfter(csvOf(2000, float), "\n")
	turned := slices.Concat(lines[:1], lines[1:1])
	for i := len(lines) - 1; i > 0; i-- {
		turned = append(turned, lines[i])
	}
	for name, tt := range map[string]struct {
		a, b string
		want bool
	}{
		"the same":             {csvOf(2000, float), csvOf(2000, float), true},
		"in another order":     {csvOf(2000, float), strings.Join(turned, ""), true},
		"with noise":           {csvOf(2000, float), csvOf(2000, func(i int) string { return fmt.Sprint(probability[i] * (1 + 1e-6*random.Float64())) }), true},
		"rounded":              {csvOf(2000, float), csvOf(2000, func(i int) string { return fmt.Sprintf("%.4g", probability[i]) }), true},
		"a third changed":      {csvOf(2000, float), csvOf(2000, func(i int) string { return fmt.Sprint(probability[i] * float64(1+i%3/2)) }), true},
		"strangers":            {csvOf(2000, float), csvOf(2000, func(int) string { return fmt.Sprint(random.Float64()) }), false},
		"the same classes":     {csvOf(2000, class), csvOf(2000, class), true},
		"good agents":          {csvOf(2000, class), csvOf(2000, func(i int) string { return fmt.Sprint((label[i] + max(0, i%20-18)) % 2) }), false},
		"constants":            {csvOf(2000, func(int) string { return "0.5" }), csvOf(2000, func(int) string { return "0.5000001" }), false},
		"few rows":             {csvOf(9, float), csvOf(9, func(i int) string { return fmt.Sprint(probability[i] * (1 + 1e-9)) }), false},
		"other rows":           {csvOf(2000, float), strings.ReplaceAll(csvOf(2000, float), "row", "col"), false},
		"not tables":           {"a\n", "\x00\x01\n\"", false},
		"nothing":              {"", "id\n", false},
		"the same, other text": {csvOf(2000, func(i int) string { return fmt.Sprint("a long text about row ", i) }), csvOf(2000, func(i int) string { return fmt.Sprint("a long text about row ", i) }) + "x", true},
	} {
		a, b := sketched(tt.a), sketched(tt.b)
		if agree, both, got := near(a, b); got != tt.want {
			t.Errorf("%s: %v, %d of %d", name, got, agree, both)
		}
	}
}

// TestShared names agents with a submission in common, each pair once, and shows what
// attempts had from elsewhere.
func TestShared(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	one := csvOf(500, func(int) string { return fmt.Sprint(random.Float64()) })
	a, b, c := made("a", "own", 2, always), made("b", "own", 2, always), made("c", "own", 2, never)
	for _, r := range slices.Concat(a.Rows, b.Rows) {
		r.Sketch = sketched(one)
	}
	b.Rows[1].Sketch = sketched(strings.ReplaceAll(one, "row-1,", "row-1,9"))
	c.Rows[0].Sketch = sketched(csvOf(500, func(int) string { return fmt.Sprint(random.Float64()) }))
	b.Rows[0].Outside = []bundle.Channel{{Text: "environment: HINT (1.2 kB)"}}
	c.Rows[0].Outside = []bundle.Channel{{Text: "own model server: http://x/v1 (m)", Answers: true}}
	s := built(t, a, b, c)
	if diff := cmp.Diff([]Kind{Shared}, kinds(s)); diff != "" {
		t.Fatalf("%+v\n%s", s.Findings, diff)
	}
	f := s.Findings[0]
	if f.About != "b" || !slices.Equal(f.Files, []string{"a.bundle", "b.bundle"}) || !strings.HasPrefix(f.Text, "4 pairs of equal submissions with a; seed 0 of a and seed 0 of b at demo-digits: the same file, byte for byte") {
		t.Errorf("%+v", f)
	}
	files, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"index.html": `<span class="pill warn">own model server: http://x/v1 (m)</span>`, agentPath("b"): "environment: HINT (1.2 kB)", "board.json": `"own model server: http://x/v1 (m)"`,
	} {
		if !strings.Contains(string(files[path]), text) {
			t.Errorf("%s lacks %q", path, text)
		}
	}
	if !strings.Contains(string(files["index.html"]), "environment: HINT") || !strings.Contains(string(files["index.html"]), "Shared submission: b") {
		t.Error("the first page lacks them")
	}
}

// TestCarry takes a bundle to another process and back: the board stays the same.
func TestCarry(t *testing.T) {
	bundles := func() []*Bundle {
		list := []*Bundle{madeBy("aide", "alice", false, always), madeBy("b", "", true, func(seed int) bool { return seed > 0 })}
		for _, b := range list {
			b.Rows[0].Sketch = sketched("id,y\n1,2\n")
		}
		return list
	}
	var carried []*Bundle
	for _, b := range bundles() {
		var text strings.Builder
		if err := b.Carry(&text); err != nil {
			t.Fatal(err)
		}
		got, err := Receive([]byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		carried = append(carried, got)
	}
	want, err := built(t, bundles()...).Files()
	if err != nil {
		t.Fatal(err)
	}
	got, err := built(t, carried...).Files()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range want {
		if string(got[path]) != string(text) {
			t.Errorf("%s: %s", path, cmp.Diff(string(text), string(got[path])))
		}
	}
	if _, err := Receive([]byte(`{"Bundle":`)); err == nil {
		t.Error("half a bundle is received")
	}
}
