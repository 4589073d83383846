package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/step"
)

// TestSecrets lists references with the folders of the files that name them.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p.hcl": `
mleflow { include = ["agents/*.hcl"] }
variable "key" { default = "file:v" }
model "m" {
  provider = "openai"
  key      = "file:main"
  models   = ["x"]
}
module "inner" { source = "./inner" }`,
		"agents/a.hcl": `
agent "a" {
  command = ["true"]
  secrets = { A = "file:a", "B" = "command:./b", V = var.key, W = "${var.key}x" }
}`,
		"inner/m.hcl": `
model "n" {
  for_each = ["x"]
  provider = "openai"
  key      = "file:../up"
  models   = [each.key]
}`,
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, diags := Load(filepath.Join(dir, "p.hcl"), Options{Kinds: step.NewRegistry()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := p.Secrets()
	slices.SortFunc(got, func(a, b step.SecretRef) int { return strings.Compare(a.Ref, b.Ref) })
	want := []step.SecretRef{{Ref: "command:./b", Dir: "agents"}, {Ref: "file:../up", Dir: "inner"}, {Ref: "file:a", Dir: "agents"}, {Ref: "file:main", Dir: "."}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
