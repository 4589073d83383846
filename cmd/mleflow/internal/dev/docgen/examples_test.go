package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
)

// files are those that the examples read.
var files = map[string]string{
	"base.hcl": `agent "baseline" { command = ["mleflow", "agent", "baseline"] }`, "agents/one.hcl": `agent "one" { command = ["true"] }`,
	"common/main.hcl": `variable "words" { type = list(string) }`, "mask.salt": "sixteen bytes or more", "agent.py": "", "make.py": "", "words.txt": "",
	"requirements.txt": "numpy==2.1.0\n", "requirements.lock": "", "wheels/tool-1.0-py3-none-any.whl": "", "questions.hcl": "",
}

// notThere are names that stand for others, and arguments that the block shares with another
// and refuses.
var notThere = map[string][]string{"module": {"NAME"}, "output": {"publish.output"}, "model": {"run_budget.tool_calls_per_request"}}

// read reads an example.
func read(t *testing.T, of, name string) string {
	t.Helper()
	text, err := examples.ReadFile("examples/" + of + "/" + name + ".hcl")
	if err != nil {
		t.Errorf("%s has no example with all of its arguments: %v", name, err)
	}
	return string(text)
}

// namesIn are the names of the attributes and blocks in the blocks of a type and label.
func namesIn(t *testing.T, text, blockType, label string) map[string]bool {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(text), label+".hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	names := map[string]bool{}
	var add func(at string, b *hclsyntax.Body)
	add = func(at string, b *hclsyntax.Body) {
		for name := range b.Attributes {
			names[at+name] = true
		}
		for _, inner := range b.Blocks {
			names[at+inner.Type] = true
			add(at+inner.Type+".", inner.Body)
		}
	}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type == blockType && (label == "" || b.Labels[0] == label) {
			add("", b.Body)
		}
	}
	return names
}

// TestExamples sees that the examples have every argument, and that they are a pipeline.
func TestExamples(t *testing.T) {
	parts, err := app.NewApp(&app.Terminal{}).Concretes()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, b := range config.Blocks {
		text := read(t, "blocks", b.Type)
		all.WriteString(text)
		has := namesIn(t, text, b.Type, "")
		for _, name := range b.Names() {
			if !has[name] && !slices.Contains(notThere[b.Type], name) {
				t.Errorf("the example of %s lacks %s", b.Type, name)
			}
		}
	}
	for _, name := range parts.Kinds.Names() {
		text := read(t, "kinds", name)
		all.WriteString(text)
		has := namesIn(t, text, "step", name)
		for _, arg := range argumentsOf(parts.Kinds.Kind(name)) {
			if !has[arg] {
				t.Errorf("the example of %s lacks %s", name, arg)
			}
		}
	}
	dir := t.TempDir()
	files := files
	files["p.hcl"] = all.String()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, diags := config.Load(filepath.Join(dir, "p.hcl"), config.Options{Kinds: parts.Kinds, Functions: parts.Functions, Version: "0.1.0"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	values, diags := p.Values(config.Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	g, diags := p.Expand(values)
	for _, d := range diags {
		t.Error(d)
	}
	if len(g.Instances) < len(parts.Kinds.Names()) {
		t.Errorf("the pipeline has %d instances", len(g.Instances))
	}
}

// argumentsOf are the arguments of a kind and those of its blocks, BLOCK.ARGUMENT.
func argumentsOf(k *step.Kind) (names []string) {
	for _, a := range k.Args {
		if !a.Block || a.Type == step.ArtifactType { // the block of that kind has the others
			names = append(names, a.Name)
		}
	}
	for _, b := range k.Blocks {
		names = append(names, b.Name)
		for _, a := range b.Args {
			names = append(names, b.Name+"."+a.Name)
		}
	}
	return slices.Clip(names)
}
