package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Values of sensitive variables are hidden by their place in the command line,
// whatever they are.
func TestHideSensitive(t *testing.T) {
	p := &Pipeline{Variables: map[string]*Variable{"pin": {Name: "pin", Sensitive: true}, "base": {Name: "base"}}}
	args := []string{"apply", "f.hcl", "-var", "pin=1082", "-var=pin=a=b", "--var=pin=", "-var", "base=1082", "pin", "--pin"}
	want := []string{"apply", "f.hcl", "-var", "pin=***", "-var=pin=***", "--var=pin=***", "-var", "base=1082", "pin", "--pin"}
	if diff := cmp.Diff(want, p.HideSensitive(args)); diff != "" {
		t.Error(diff)
	}
}
