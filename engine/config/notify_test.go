package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

// TestNotify: a pipeline names receivers and kinds of messages, and nothing else.
func TestNotify(t *testing.T) {
	p, diags := Parse("p.hcl", []byte("notify \"team\" {\n  on = [\"failed\", \"budget 5%\"]\n}\nnotify \"me\" {}\n"), Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	want := []Notify{{Name: "team", On: []string{"failed", "budget 5%"}}, {Name: "me"}}
	for i := range p.Notify {
		p.Notify[i].Range = hcl.Range{}
	}
	if d := cmp.Diff(want, p.Notify); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		`to = "https://evil"`:       "Unsupported argument",
		`command = ["true"]`:        "Unsupported argument",
		`agent_text = true`:         "Unsupported argument",
		`on = ["budget"]`:           "no kind of message",
		`on = ["budget 0%"]`:        "no kind of message",
		`on = ["budget 080%"]`:      "no kind of message",
		`on = ["budget -5%"]`:       "no kind of message",
		`on = ["budget 80%x"]`:      "no kind of message",
		`on = ["attempt scored "]`:  `Did you mean "attempt scored"?`,
		`on = [var.x]`:              "Variables not allowed",
		`on = "failed"`:             `Write, for example, on = ["failed", "budget 80%"].`,
		"}\nnotify \"a b\" {\n":     "not a valid name",
		"}\nnotify \"a\" \"b\" {\n": "Extraneous label",
	} {
		if _, diags := Parse("p.hcl", []byte("notify \"a\" {\n"+text+"\n}\n"), Options{}); !slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return strings.Contains(d.Summary+d.Detail, want) }) {
			t.Errorf("%s: %v", text, diags)
		}
	}
}
