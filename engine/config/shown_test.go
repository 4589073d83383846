package config

import (
	"os"
	"path/filepath"
	"testing"
)

// TestShownIsRead: what a run stores of its variables gives the same values again,
// null included.
func TestShownIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.hcl")
	text := `
variable "any" { default = null }
variable "address" {
  type    = string
  default = null
}
variable "word" { default = "null" }
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, diags := Load(path, Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	first, diags := p.Values(Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var again Inputs
	for name, value := range p.Shown(first) {
		again.Assignments = append(again.Assignments, Assignment{Text: name + "=" + value, Recorded: true})
	}
	second, diags := p.Values(again)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for name, value := range first {
		if !second[name].RawEquals(value) {
			t.Errorf("%s is %#v, was %#v", name, second[name], value)
		}
	}
}
