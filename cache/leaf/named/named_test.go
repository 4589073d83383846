package named

import (
	"slices"
	"testing"
)

func set(names ...string) *Set[string] {
	return New("fruit", func(s string) string { return s }, names...)
}

func TestSet(t *testing.T) {
	s := set("pear", "apple")
	if want := []string{"apple", "pear"}; !slices.Equal(s.Names(), want) || !slices.Equal(s.List(), want) {
		t.Errorf("names %v, list %v, want %v", s.Names(), s.List(), want)
	}
	if got, err := s.Get("pear"); got != "pear" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := s.Get("plum"); err == nil || err.Error() != `no fruit "plum"; there is apple, pear` {
		t.Errorf("error %v", err)
	}
}

func TestSetRefusesMistakes(t *testing.T) {
	for _, names := range [][]string{{"pear", "pear"}, {""}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was accepted", names)
				}
			}()
			set(names...)
		}()
	}
}
