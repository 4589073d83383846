package plain

import (
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	names := strings.Split("abcdefghijklm", "")
	for n, want := range map[int]string{0: "", 1: "a", 12: "a, b, c, d, e, f, g, h, i, j, k, l", 13: "a, b, c, d, e, f, g, h, i, j, k, l, … (13)"} {
		if got := List(names[:n]); got != want {
			t.Errorf("%d names: %q, want %q", n, got, want)
		}
	}
}
