package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNames lists each name once, by value.
func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"k1", "k2", "k10"}, Names([]string{"k10", "k2", "k10", "k1"}, strings.Clone)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// TestParts leaves out what does not hold.
func TestParts(t *testing.T) {
	parts := Parts{"1/2"}
	parts.If(false, "hidden")
	parts.Count(0, "failed")
	parts.Count(3, "running")
	text := parts.Join(", ") + After(": ", "") + After(": ", "why") + bracketed("") + bracketed("fast") + When(false, "!") + Either(true, ".", "?")
	if want := "1/2, 3 running: why (fast)."; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}
