package pattern_test

import (
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

func TestCompiledOnce(t *testing.T) {
	p := pattern.New(`^v([0-9]+)$`)
	first := p.Regexp()
	if got := first.ReplaceAllString("v12", "$1"); got != "12" {
		t.Errorf("got %q", got)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if p.Regexp() != first {
				t.Error("compiled again")
			}
		})
	}
	all.Wait()
}

func TestWrongSyntaxPanics(t *testing.T) {
	p := pattern.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	p.Regexp()
}
