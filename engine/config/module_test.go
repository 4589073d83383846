package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/local"
)

// commonModule uses every kind of reference, and names of ours where they mean something
// else.
const commonModule = `
variable "keys" { type = set(string) }
variable "train" {
  type    = object({ lr = number, steps = optional(number, 500) })
  default = { lr = 0.1 }
}
variable "data" { default = null }
locals {
  local   = { local = 1, agent = 2, step = 3, var = 4 }
  shadows = [for local in ["a"] : { for agent, step in { (local) = "b" } : agent => "${step}${local}" }]
  names   = [for name in ["mine"] : agent[name].name]
  here    = path.module
}
agent "mine" { command = ["mleflow", "agent"] }
step "source" "raw" {
  for_each = var.keys
  id       = each.key
}
step "split" "data" {
  for_each = step.source.raw
  raw      = step.source.raw[each.key].tree
  seed     = step.source.raw[each.key].count + var.train.steps
}
step "solve" "run" {
  for_each   = local.runs
  data       = step.split.data[each.key].public
  agent      = agent["mine"]
  depends_on = [step.source.raw]
  network { allow = local.names }
}
output "count" { value = { for k, s in step.source.raw : k => s.count } }
output "notes" { value = jsonencode([local.local, local.shadows, local.names, local.here, var.train, try(local.local.none, "none")]) }
output "submissions" { value = values(step.solve.run)[*].submission }
`

func modular(t *testing.T, main string, files map[string]string) string {
	t.Helper()
	all := map[string]string{".git/HEAD": "", "p/main.hcl": main, "common/a.hcl": commonModule, "common/b.hcl": "locals { runs = var.keys }\n", "common/a.lock.hcl": "nothing"}
	for name, text := range files {
		all[name] = text
	}
	dir := t.TempDir()
	for name, text := range all {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "p", "main.hcl")
}

func loadModular(path string, opts Options) (*Graph, hcl.Diagnostics) {
	p, diags := Load(path, opts)
	if diags.HasErrors() {
		return nil, diags
	}
	values, diags := p.Values(Inputs{})
	if diags.HasErrors() {
		return nil, diags
	}
	return p.Expand(values)
}

const usesCommon = `
locals { keys = toset(["a", "b"]) }
step "source" "first" { id = "first" }
module "x" {
  source = "../common"
  keys   = local.keys
  data   = step.source.first.tree
}
step "board" "b" {
  reports = module.x.submissions
  note    = "${module.x.notes} ${jsonencode(module.x.count)}"
}
output "notes" { value = module.x.notes }
`

func TestModule(t *testing.T) {
	opts := Options{Kinds: testKinds(), Version: "0.1.0"}
	path := modular(t, usesCommon, nil)
	g, diags := loadModular(path, opts)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	check := func(g *Graph) {
		t.Helper()
		got := lists.Of(g.Instances, func(i *Instance) string {
			return i.Addr.String() + " " + strings.Join(lists.Of(i.Deps, func(d int) string { return g.Instances[d].Addr.String() }), " ")
		})
		slices.Sort(got)
		a, b := `step.source.x.raw["a"]`, `step.source.x.raw["b"]`
		want := []string{
			`step.board.b ` + a + " " + b + ` step.solve.x.run["a"] step.solve.x.run["b"]`, "step.source.first ",
			`step.solve.x.run["a"] ` + a + " " + b + ` step.split.x.data["a"]`, `step.solve.x.run["b"] ` + a + " " + b + ` step.split.x.data["b"]`,
			a + " ", b + " ", `step.split.x.data["a"] ` + a, `step.split.x.data["b"] ` + b,
		}
		slices.Sort(want)
		for i := range got { // the order of a board's dependencies is that of its arguments
			got[i], want[i] = sortedWords(got[i]), sortedWords(want[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		out, diags := g.OutputValue(g.Pipeline.Outputs[0])
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if want := `[{"agent":2,"local":1,"step":3,"var":4},[{"a":"ba"}],["mine"],"../common",{"lr":0.1,"steps":500},"none"]`; out.Value.AsString() != want {
			t.Errorf("notes are %s", out.Value.AsString())
		}
	}
	check(g)
	// All that was read is recorded, and enough to load it elsewhere.
	record, err := local.Encode(g.Pipeline.LocalFiles().Answers())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	opts.Files = map[string][]byte{local.RecordName: record}
	p, diags := Parse("main.hcl", []byte(usesCommon), opts)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if g, diags = p.Expand(nil); diags.HasErrors() {
		t.Fatal(diags)
	}
	check(g)
}

func sortedWords(s string) string {
	words := strings.Fields(s)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// A module in a module, and two of the same files, have names of their own.
func TestModulesInModules(t *testing.T) {
	path := modular(t, `
module "one" {
  source = "../outer"
  n      = 1
}
module "two" {
  source = "../outer/outer.hcl"
  n      = module.one.n + 1
}
step "board" "b" { note = "${module.one.n} ${module.two.n} ${module.one.here}" }
`, map[string]string{
		"outer/outer.hcl": "variable \"n\" {}\nmodule \"in\" {\n  source = \"./in\"\n  n = var.n * 10\n}\nstep \"board\" \"b\" { note = \"${module.in.n}\" }\noutput \"n\" { value = module.in.n }\noutput \"here\" { value = module.in.here }\n",
		"outer/in/in.hcl": "variable \"n\" { type = number }\nlocals { n = var.n + 1 }\nstep \"board\" \"b\" { note = \"${local.n}\" }\noutput \"n\" { value = local.n }\noutput \"here\" { value = path.module }\n",
	})
	g, diags := loadModular(path, Options{Kinds: testKinds(), Version: "0.1.0"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := map[string]string{}
	for i, inst := range g.Instances {
		args, _ := g.Args(i)
		got[inst.Addr.String()] = args.Get("note").AsString()
	}
	want := map[string]string{"step.board.b": "11 121 ../outer/in", "step.board.one.b": "11", "step.board.two.b": "121", "step.board.one.in.b": "11", "step.board.two.in.b": "121"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestModuleMistakes(t *testing.T) {
	use := func(lines string) string { return "module \"m\" {\n" + lines + "\n}\n" }
	common := use(`source = "../common"` + "\n" + `keys = ["a"]`)
	for _, tt := range []struct {
		name, main, other, want, at string
	}{
		{"no source", use(""), "", "Write source =", "main.hcl:1"},
		{"absolute", use(`source = "/etc"`), "", "not a relative path", "main.hcl:2"},
		{"remote", use(`source = "git::https://x.example/y"`), "", "check out the repository", "main.hcl:2"},
		{"an expression", "variable \"s\" { default = \"../common\" }\n" + use(`source = var.s`), "", "Variables not allowed", "main.hcl:3"},
		{"outside of the repository", use(`source = "../../../../../etc"`), "", "repository", "main.hcl:2"},
		{"a file outside", use(`source = "../../../../../../etc/ssl/openssl.hcl"`), "", "", "main.hcl:2"},
		{"missing", use(`source = "../none"`), "", "there is no ../none", "main.hcl:2"},
		{"empty folder", use(`source = "../.git"`), "", "repository", "main.hcl:2"},
		{"missing input", use(`source = "../common"`), "", "needs keys", "main.hcl:1"},
		{"undeclared input", use("source = \"../common\"\nkeys = []\nkey = 1"), "", `Did you mean "keys"`, "main.hcl:4"},
		{"count", use("source = \"../common\"\nkeys = []\ncount = 2"), "", "write one block each", "main.hcl:4"},
		{"type of an input", use("source = \"../common\"\nkeys = 1"), "", `Variable "keys" must be`, "main.hcl:3"},
		{"a secret of the wrong type", "variable \"s\" {\n  sensitive = true\n  default = \"hunter2\"\n}\n" + use("source = \"../common\"\nkeys = var.s"), "", "not shown", "main.hcl:7"},
		{"twice", common + common, "", "already declared", "main.hcl:5"},
		{"the same agents twice", common + strings.Replace(common, `"m"`, `"n"`, 1), "", `has the agent "mine" already`, "a.hcl:14"},
		{"undeclared output", common + "output \"o\" { value = module.m.counts }", "", "Did you mean", "main.hcl:5"},
		{"undeclared module", common + "output \"o\" { value = module.n.counts }", "", "There is no module.n", "main.hcl:5"},
		{"its local", common + "output \"o\" { value = local.runs }", "", "There is no local value", "main.hcl:5"},
		{"its step", common + "output \"o\" { value = step.source.raw }", "", "There is no step.source.raw", "main.hcl:5"},
		{"module alone", common + "output \"o\" { value = module }", "", "nothing called", "main.hcl:5"},
		{"a local of the pipeline", "locals { l = 1 }\n" + use(`source = "../other.hcl"`), "output \"o\" { value = local.l }", "There is no local value", "other.hcl:1"},
		{"a step of the pipeline", "step \"source\" \"s\" { id = \"a\" }\n" + use(`source = "../other.hcl"`), "output \"o\" { value = step.source.s.count }", "There is no step.source.m.s", "other.hcl:1"},
		{"settings", use(`source = "../other.hcl"`), "mleflow { remote_cache = \"s3://x\" }", "only required_version", "other.hcl:1"},
		{"version", use(`source = "../other.hcl"`), "mleflow { required_version = \"> 9\" }", "needs mleflow", "other.hcl:1"},
		{"include", use(`source = "../other.hcl"`), "mleflow { include = [\"*.hcl\"] }", "cannot include", "other.hcl:1"},
		{"publish", use(`source = "../other.hcl"`), "output \"o\" {\n  value = 1\n  publish { to = \"x\" }\n}", "belongs in the pipeline", "other.hcl:3"},
		{"notify", use(`source = "../other.hcl"`), "notify \"me\" {}", "belongs in the pipeline", "other.hcl:1"},
		{"itself", use(`source = "../other.hcl"`), "module \"again\" { source = \"./other.hcl\" }", "../other.hcl contains ../other.hcl", "other.hcl:1"},
		{"a cycle of values", use("source = \"../other.hcl\"\nv = module.m.o"), "variable \"v\" {}\noutput \"o\" { value = var.v }", "in a cycle", ""},
		{"validation", use("source = \"../other.hcl\"\nv = 1"), "variable \"v\" {\n  validation {\n    condition = var.v > 1\n    error_message = \"too small: ${var.v}\"\n  }\n}", "too small: 1", "other.hcl:2"},
		{"validation of a later value", "step \"source\" \"s\" { id = \"a\" }\n" + use("source = \"../other.hcl\"\nv = step.source.s.count"), "variable \"v\" {\n  validation {\n    condition = var.v > 1\n    error_message = \"\"\n  }\n}", "known before anything runs", "main.hcl:4"},
		{"a later for_each", "step \"source\" \"s\" { id = \"a\" }\n" + use("source = \"../common\"\nkeys = [\"${step.source.s.count}\"]"), "", "depend on outputs of step.source.s", ""},
		{"private data to untrusted code", "step \"source\" \"s\" { id = \"a\" }\nstep \"split\" \"s\" { raw = step.source.s.tree }\n" + use("source = \"../other.hcl\"\nv = step.split.s.private"), "variable \"v\" {}\nstep \"solve\" \"s\" { data = var.v }", "private", "other.hcl:2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := modular(t, tt.main, map[string]string{"other.hcl": tt.other})
			_, diags := loadModular(path, Options{Kinds: testKinds(), Version: "0.1.0"})
			found := slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool {
				return d.Subject != nil && (tt.at == "" || strings.HasSuffix(position(*d.Subject), "/"+tt.at)) && strings.Contains(d.Summary+d.Detail, tt.want)
			})
			if !found || strings.Contains(diags.Error(), "hunter2") {
				t.Errorf("got %v\nwant %q at %s", diags, tt.want, tt.at)
			}
		})
	}
}

// Links to files elsewhere are not modules: an error shows lines.
func TestModuleLinks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.hcl")
	if err := os.WriteFile(secret, []byte("hunter2 ="), 0o600); err != nil {
		t.Fatal(err)
	}
	path := modular(t, "module \"m\" { source = \"../linked\" }\nmodule \"n\" { source = \"../linked/secret.hcl\" }\nmodule \"o\" { source = \"../folder\" }\n", map[string]string{"linked/x.hcl": ""})
	root := filepath.Dir(filepath.Dir(path))
	for name, to := range map[string]string{"linked/secret.hcl": secret, "folder": filepath.Dir(secret)} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, diags := Load(path, Options{Kinds: testKinds(), Version: "0.1.0"})
	if len(diags.Errs()) < 3 || strings.Contains(diags.Error(), "hunter2") {
		t.Error(diags)
	}
}

// Modules that multiply end with an error.
func TestModulesMultiply(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("m%d.hcl", i)] = fmt.Sprintf("module \"a\" { source = \"./m%d.hcl\" }\nmodule \"b\" { source = \"./m%[1]d.hcl\" }\n", i+1)
	}
	files["m20.hcl"] = "locals { a = 1 }"
	path := modular(t, "module \"a\" { source = \"../m0.hcl\" }", files)
	if _, diags := Load(path, Options{Kinds: testKinds(), Version: "0.1.0"}); !strings.Contains(diags.Error(), "at most 100 modules") {
		t.Error(diags)
	}
}

// include reaches folders above, within the repository.
func TestIncludeAbove(t *testing.T) {
	path := modular(t, "mleflow { include = [\"../agents/*.hcl\", \"../agents/deep/**/*.hcl\"] }\nlocals { names = [agent.a.name, agent.b.name] }\n", map[string]string{
		"agents/a.hcl": "agent \"a\" { command = [\"mleflow\"] }\n", "agents/deep/er/b.hcl": "agent \"b\" { command = [\"mleflow\"] }\n",
	})
	if _, diags := loadModular(path, Options{Kinds: testKinds(), Version: "0.1.0"}); diags.HasErrors() {
		t.Error(diags)
	}
	for pattern, want := range map[string]string{"../../../../../../etc/*.conf": "repository", "../none/*.hcl": "../none", "../.git/*": "repository", "../[": "not a valid pattern"} {
		path := modular(t, "mleflow { include = [\""+pattern+"\"] }\n", nil)
		if _, diags := Load(path, Options{Kinds: testKinds(), Version: "0.1.0"}); !strings.Contains(diags.Error(), want) {
			t.Errorf("%s: %v", pattern, diags)
		}
	}
}
