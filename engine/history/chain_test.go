package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
)

// chained returns a run history whose chain has a run with n attempts, and the lines.
func chained(t *testing.T, n int) (*Store, [][]byte) {
	t.Helper()
	l := New(t.TempDir())
	links := []Link{{Type: Declared, Run: "r", Text: digest.Of([]byte("text")), Plan: digest.Of([]byte("plan")), Steps: []string{Mark("a"), Mark("b")}}}
	for i := range n {
		links = append(links, Link{Type: Began, Run: "r", Step: Mark("a"), Subjects: []string{Mark("x")}, Try: i + 1})
	}
	for _, link := range links {
		if err := l.Extend(link); err != nil {
			t.Fatal(err)
		}
	}
	text, err := l.Chain()
	if err != nil {
		t.Fatal(err)
	}
	return l, slices.Collect(bytes.Lines(text))
}

func TestChainIsWhole(t *testing.T) {
	_, lines := chained(t, 4)
	swap := func(from, to string) func([][]byte) [][]byte {
		return func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte(from), []byte(to), 1)
			return l
		}
	}
	for _, test := range []struct {
		name   string
		tamper func([][]byte) [][]byte
		want   string // of the error; empty for none
	}{
		{"untouched", func(l [][]byte) [][]byte { return l }, ""},
		{"edited", swap(`"attempt":2`, `"attempt":7`), "line 4 of the chain does not follow from line 3"},
		{"last edited, which nothing follows", func(l [][]byte) [][]byte { return swap(`"attempt":2`, `"attempt":7`)(l[:3]) }, ""},
		{"removed", func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) }, "line 3 of the chain does not follow from line 2"},
		{"first removed", func(l [][]byte) [][]byte { return l[1:] }, "line 1 of the chain does not follow"},
		{"reordered", func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, "line 3 of the chain does not follow"},
		{"twice", func(l [][]byte) [][]byte { return slices.Insert(l, 2, l[1]) }, "line 3 of the chain does not follow"},
		{"another seed", func(l [][]byte) [][]byte {
			l[0] = bytes.Replace(l[0], []byte(Mark("b")), []byte(Mark("c")), 1)
			return l
		}, "line 2 of the chain does not follow from line 1"},
		{"cut within a line", func(l [][]byte) [][]byte { l[4] = l[4][:40]; return l }, "line 5 of the chain is damaged"},
		{"without the last newline", func(l [][]byte) [][]byte { l[4] = bytes.TrimSpace(l[4]); return l }, "line 5 of the chain is damaged"},
		{"another form", swap(`{"prev"`, `{ "prev"`), "line 3 of the chain is damaged: mleflow would write it differently"},
		{"a further field", swap(`"attempt":2`, `"attempt":2,"note":"x"`), "line 3 of the chain is damaged"},
		{"an unknown type", swap(`"began"`, `"begin"`), `line 3 of the chain has the unknown type "begin"`},
	} {
		text := bytes.Join(test.tamper(slices.Clone(lines)), nil)
		links, err := ParseChain(text)
		switch {
		case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		case err == nil && len(links) != bytes.Count(text, []byte("\n")):
			t.Errorf("%s: %d links", test.name, len(links))
		}
	}
}

// TestChainIsMended: an incomplete last line, as a killed process leaves one, is not
// read and is replaced by the next.
func TestChainIsMended(t *testing.T) {
	l, lines := chained(t, 2)
	whole := bytes.Join(lines, nil)
	for cut := range len(lines[2]) {
		if err := os.WriteFile(l.chain(), append(bytes.Clone(whole), lines[2][:cut]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := l.Chain(); err != nil || !bytes.Equal(text, whole) {
			t.Fatalf("cut at %d: %q, %v", cut, text, err)
		}
		if head, err := l.Head(); err != nil || head != digest.Of(lines[2]) {
			t.Fatalf("cut at %d: head %s, %v", cut, head, err)
		}
		if err := l.Extend(Link{Type: Ended, Run: "r", Step: Mark("a")}); err != nil {
			t.Fatal(err)
		}
		text, _ := l.Chain()
		if links, err := ParseChain(text); err != nil || len(links) != 4 {
			t.Fatalf("cut at %d: %d links, %v", cut, len(links), err)
		}
	}
}

// TestChainOfMany: lines of any length, written by several at once, follow from each
// other.
func TestChainOfMany(t *testing.T) {
	dir := t.TempDir()
	if head, err := New(dir).Head(); err != nil || !head.IsZero() {
		t.Fatalf("head of no chain: %s, %v", head, err)
	}
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := range 10 {
				link := Link{Type: Declared, Run: fmt.Sprint(w, i)}
				for s := range 1 + i*150 { // up to 46 KiB
					link.Steps = append(link.Steps, Mark(fmt.Sprint(s)))
				}
				if err := New(dir).Extend(link); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	text, err := New(dir).Chain()
	if err != nil {
		t.Fatal(err)
	}
	links, err := ParseChain(text)
	if err != nil || len(links) != 40 {
		t.Fatalf("%d links, %v", len(links), err)
	}
	if head, err := New(dir).Head(); err != nil || head != links[39].ID {
		t.Errorf("head %s, want %s, %v", head, links[39].ID, err)
	}
}

func TestCommitment(t *testing.T) {
	opening := func(change func(*Opening)) digest.ContentID {
		o := Opening{Info: Info{Pipeline: "/p/a.hcl", Variables: map[string]json.RawMessage{"seeds": json.RawMessage("3")}}, Sources: map[string][]byte{"a.hcl": []byte("text"), "b": []byte("file")}, Counted: []string{"s/0", "s/1"}}
		change(&o)
		l := o.Declaration()
		return l.Commitment()
	}
	plain := opening(func(*Opening) {})
	for what, change := range map[string]func(*Opening){
		"folder":         func(o *Opening) { o.Info.Pipeline = "/q/a.hcl" },
		"order of steps": func(o *Opening) { o.Counted = []string{"s/1", "s/0"} },
		"run":            func(o *Opening) { o.Info.ID = "r" },
	} {
		if opening(change) != plain {
			t.Errorf("the commitment depends on the %s", what)
		}
	}
	for what, change := range map[string]func(*Opening){
		"text":      func(o *Opening) { o.Sources["a.hcl"] = []byte("other") },
		"file":      func(o *Opening) { o.Sources["b"] = []byte("other") },
		"variables": func(o *Opening) { o.Info.Variables["seeds"] = json.RawMessage("4") },
		"steps":     func(o *Opening) { o.Counted = append(o.Counted, "s/2") },
	} {
		if opening(change) == plain {
			t.Errorf("the commitment does not depend on the %s", what)
		}
	}
	l := Link{Type: Declared}
	before := l.Commitment()
	if l.Prev = plain; l.Commitment() == before {
		t.Error("the commitment does not depend on earlier lines")
	}
}

// A chain whose beginning is damaged is not continued; one that is empty starts again.
func TestExtendDamaged(t *testing.T) {
	dir := t.TempDir()
	l := New(dir)
	for range 2 {
		if err := l.Extend(Link{Type: Declared, Run: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "chain.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(text[:64])
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := l.Extend(Link{Type: Declared, Run: "r"}); err == nil || !strings.Contains(err.Error(), "move it out of the cache") {
		t.Errorf("error %v", err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Extend(Link{Type: Declared, Run: "r"}); err != nil {
		t.Error(err)
	}
}
