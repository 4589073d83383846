package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/diag"
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

// Diagnostics do not quote the value of a sensitive variable, whichever way it came and
// whatever is wrong with it.
func TestDiagnosticsHideSensitive(t *testing.T) {
	const value = "hunter2"
	declared := func(rest string) string { return "variable \"pin\" {\n sensitive = true\n" + rest + "\n}\n" }
	for name, c := range map[string]struct{ source, text, file string }{
		"not an expression":    {source: declared("type = list(string)"), text: "[" + value},
		"a reference":          {source: declared("type = list(string)"), text: value},
		"wrong type":           {source: declared("type = number"), text: value},
		"wrong key":            {source: declared("type = map(number)"), text: `{ ` + value + ` = "x" }`},
		"in a file":            {source: declared("type = number"), file: `pin = "` + value + `"`},
		"error in a file":      {source: declared(""), file: "pin = " + value},
		"unfinished in a file": {source: declared(""), file: `pin = "` + value},
		"default":              {source: declared("type = number\n default = \"" + value + "\"")},
		"message":              {source: declared("validation {\n condition = false\n error_message = \"not ${var.pin}\"\n}"), text: value},
		"condition":            {source: declared("validation {\n condition = parseint(var.pin, 10) > 1\n error_message = \"x\"\n}"), text: value},
		"argument":             {source: declared("") + `step "source" "s" { id = parseint(var.pin, 10) }`, text: value},
		"one of":               {source: declared("") + "step \"source\" \"s\" { id = \"x\" }\nstep \"split\" \"d\" {\n raw = step.source.s.tree\n mode = var.pin\n}", text: value},
		"type of an argument":  {source: declared("") + "step \"source\" \"s\" { id = { (var.pin) = {} } }", text: value},
		"key":                  {source: declared("") + `output "o" { value = { x = 1 }[var.pin] }`, text: value},
		"keys":                 {source: declared("") + `output "o" { value = { (var.pin) = 1 }["x"] }`, text: value},
		"try":                  {source: declared("") + `output "o" { value = try(parseint(var.pin, 10), tonumber(var.pin)) }`, text: value},
		"model":                {source: declared("") + "model \"m\" { provider = [var.pin] }", text: value},
		"limit":                {source: declared("") + "step \"source\" \"s\" {\n id = \"x\"\n timeout = var.pin\n}", text: value},
		"limit of a number":    {source: declared("") + "step \"source\" \"s\" {\n id = \"x\"\n timeout = \"${parseint(var.pin, 10)}s\"\n}", text: value},
		"publish":              {source: declared("") + "step \"source\" \"s\" {\n id = \"x\"\n publish { to = \"../${var.pin}\" }\n}", text: value},
	} {
		t.Run(name, func(t *testing.T) {
			p, diags := Parse("test.hcl", []byte(c.source), Options{Kinds: testKinds(), Version: "0.1.0"})
			if !diags.HasErrors() {
				in := Inputs{}
				if c.text != "" {
					in.Assignments = append(in.Assignments, Assignment{Text: "pin=" + c.text})
				}
				if c.file != "" {
					path := filepath.Join(t.TempDir(), "v.hcl")
					if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
						t.Fatal(err)
					}
					in.Assignments = append(in.Assignments, Assignment{File: path})
				}
				values, more := p.Values(in)
				if diags = more; !diags.HasErrors() {
					_, diags = p.Expand(values)
				}
			}
			var shown bytes.Buffer
			if err := diag.WriteText(&shown, p.Files, diags, 0, false); err != nil {
				t.Fatal(err)
			}
			if !diags.HasErrors() || strings.Contains(shown.String(), value) {
				t.Errorf("%s", shown.String())
			}
		})
	}
}
