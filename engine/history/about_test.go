package history_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/engine/history"
)

// TestNickname: two words follow from an id, and name a run.
func TestNickname(t *testing.T) {
	form, seen := regexp.MustCompile(`^[a-z]+-[a-z]+$`), map[string]bool{}
	for n := range 1000 {
		id := fmt.Sprintf("20261125T1212%02dZ-%04x", n%60, n)
		name := history.Nickname(id)
		if err := (history.About{RunName: name}).Check(); err != nil || !form.MatchString(name) || name != history.Nickname(id) {
			t.Fatalf("%s: %q, %v", id, name, err)
		}
		seen[name] = true
	}
	if len(seen) < 800 {
		t.Errorf("only %d names of 1000 ids differ", len(seen))
	}
	// The words of an id never change, since people write them down.
	if got := history.Nickname("20260101T000000Z-0001"); got != stableName {
		t.Errorf("the words have changed: %s", got)
	}
}

const stableName = "keen-camel"

func TestAboutCheck(t *testing.T) {
	long := strings.Repeat("a", 65)
	for _, bad := range []history.About{
		{RunName: "latest"}, {RunName: "2026"}, {RunName: long}, {RunName: "a b"}, {RunName: "../x"}, {RunName: "a\x1b[m"},
		{Tags: map[string]string{"a=b": "c"}}, {Tags: map[string]string{"": "c"}}, {Tags: map[string]string{"a": "\n"}},
		{Tags: map[string]string{"a": "\u202e"}}, {Tags: map[string]string{"a": strings.Repeat("b", 201)}},
		{Note: "\x1b[2J"}, {Note: "\xff"}, {Note: strings.Repeat("b", 4001)},
	} {
		if bad.Check() == nil {
			t.Errorf("%+.80v is accepted", bad)
		}
	}
	for _, good := range []history.About{{}, {RunName: "a.b-C_1"}, {Note: "größer\n\tals"}, {Tags: map[string]string{"lr": "1e-3", "who": "Ann B."}}} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

// TestDescribeAtOnce: taggers at the same time don't lose each other's tags.
func TestDescribeAtOnce(t *testing.T) {
	l := history.New(t.TempDir())
	r, err := l.Begin(history.Opening{Info: history.Info{Pipeline: "p.hcl"}, About: history.About{RunName: "first"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			p, err := l.Find("first")
			if err == nil {
				_, err = p.Describe(func(a *history.About) { a.Tags[fmt.Sprintf("t%d", n)] = "x" })
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p, err := l.Find("first")
	if err != nil {
		t.Fatal(err)
	}
	if about := p.About(); len(about.Tags) != 20 || about.RunName != "first" {
		t.Errorf("got %+v", about)
	}
	if p, err := l.Find(history.Nickname(r.ID())); err != nil || p.Info.ID != r.ID() {
		t.Errorf("by its two words: %v", err)
	}
}
