package config

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

func artifactOut(name string, s step.Secrecy) step.Output {
	return step.Output{Name: name, Type: step.ArtifactType, Secrecy: s}
}

// testKinds are small stand-ins with the shapes of the real kinds.
func testKinds() *step.Registry {
	none := func(step.Args) (step.Step, error) { return nil, nil }
	return step.NewRegistry(
		step.Kind{Name: "source", Version: "1", New: none,
			Args:    []step.Attr{{Name: "id", Type: cty.String, Required: true}},
			Outputs: []step.Output{artifactOut("tree", step.Private), {Name: "count", Type: cty.Number}}},
		step.Kind{Name: "split", Version: "1", New: none,
			Args:    []step.Attr{{Name: "raw", Type: step.ArtifactType, Required: true}, {Name: "seed", Type: cty.Number}, {Name: "mode", Type: cty.String, OneOf: []string{"fast", "slow"}}},
			Outputs: []step.Output{artifactOut("private", step.Private), artifactOut("public", step.Public), artifactOut("rest", step.Inherit)}},
		step.Kind{Name: "solve", Version: "1", Untrusted: true, New: none,
			Args:    []step.Attr{{Name: "data", Type: step.ArtifactType, Required: true}, {Name: "agent", Type: step.AgentType}},
			Blocks:  []step.Block{{Name: "network", Args: []step.Attr{{Name: "allow", Type: cty.List(cty.String), Required: true}}}},
			Outputs: []step.Output{artifactOut("submission", step.Inherit)}},
		step.Kind{Name: "board", Version: "1", New: none,
			Args:    []step.Attr{{Name: "reports", Type: cty.List(step.ArtifactType)}, {Name: "parts", Type: cty.Map(step.ArtifactType)}, {Name: "note", Type: cty.String}},
			Outputs: []step.Output{{Name: "table", Type: cty.String}}},
	)
}

func load(t *testing.T, src string, in Inputs) (*Graph, diag.List) {
	t.Helper()
	p, diags := Parse("test.hcl", []byte(src), Options{Kinds: testKinds(), Version: "0.1.0"})
	if diags.HasErrors() {
		return nil, diags
	}
	values, diags := p.Values(in)
	if diags.HasErrors() {
		return nil, diags
	}
	return p.Expand(values)
}

const chain = `
variable "n" {
  type    = number
  default = 2
}
locals { keys = toset([for i in range(var.n) : "k${i}"]) }
agent "a" { command = ["mleflow", "agent"] }
step "source" "raw" {
  for_each = local.keys
  id       = each.key
}
step "split" "data" {
  for_each = step.source.raw
  raw      = each.value.tree
  seed     = step.source.raw[each.key].count + 1
}
step "solve" "run" {
  for_each = local.keys
  data     = step.split.data[each.key].public
  agent    = agent["a"]
  timeout  = "2d"
  network { allow = ["example.org:443"] }
  resources {
    cpus   = 0.5
    memory = "2GiB"
  }
  retry { attempts = 3 }
}
step "board" "all" { reports = values(step.solve.run)[*].submission }
output "table" { value = step.board.all.table }
`

func TestExpandChain(t *testing.T) {
	g, diags := load(t, chain, Inputs{Assignments: []Assignment{{Text: "n=3"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if len(g.Instances) != 10 {
		t.Fatalf("%d instances, want 10", len(g.Instances))
	}
	k1 := addr.Keyed(addr.Step{Kind: "split", Name: "data"}, "k1")
	i, ok := g.Find(k1)
	if !ok || len(g.Instances[i].Deps) != 1 || g.Instances[g.Instances[i].Deps[0]].Addr.Key != "k1" {
		t.Fatalf("%s depends on %v, want only its own source", k1, g.Instances[i].Deps)
	}
	if !g.Instances[i].Dynamic || !g.Instances[i].Private {
		t.Errorf("%s: dynamic %v, private %v; want both", k1, g.Instances[i].Dynamic, g.Instances[i].Private)
	}
	board := g.Instances[9]
	if len(board.Deps) != 3 || board.Dynamic {
		t.Errorf("board depends on %v, dynamic %v", board.Deps, board.Dynamic)
	}
	solve := g.Instances[6]
	if solve.Limits.Timeout.Hours() != 48 || solve.Limits.MemoryBytes != 2<<30 || solve.Retry.Tries != 3 {
		t.Errorf("limits %+v, retry %+v", solve.Limits, solve.Retry)
	}
}

func TestArgsOnceOutputsAreKnown(t *testing.T) {
	g, diags := load(t, chain, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	ref := cache.Ref{Kind: cache.Tree, ID: digest.Of([]byte("x"))}
	for _, i := range g.Select(addr.Single(addr.Step{Kind: "source", Name: "raw"})) {
		g.SetOutputs(i, cache.Outputs{"tree": {Ref: ref}, "count": {JSON: []byte("41")}})
	}
	split := g.Select(addr.Single(addr.Step{Kind: "split", Name: "data"}))[0]
	args, diags := g.Args(split)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var got struct {
		Raw  *step.Artifact `cty:"raw"`
		Seed *int           `cty:"seed"`
		Mode *string        `cty:"mode"`
	}
	if err := args.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Raw.Ref != ref || *got.Seed != 42 || got.Mode != nil {
		t.Errorf("got %+v", got)
	}
	h, err := step.Key(g.Instances[split].Step.Kind, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := h.Fields(); len(f) != 4 || f[2].Value != ref.ID.String() || f[3].Value != "42" {
		t.Errorf("fields %v", f)
	}
}

const secretVariable = "variable \"k\" {\n sensitive = true\n default = \"s3cret\"\n}\n"

// TestPathPipeline gives the folder of the file, whatever the way it is named
// and the working directory is.
func TestPathPipeline(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"test.hcl", dir + "/test.hcl", "./x/../test.hcl"} {
		p, diags := Parse(name, []byte("step \"source\" \"raw\" { id = \"${path.pipeline}/raw\" }"), Options{Kinds: testKinds()})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		g, diags := p.Expand(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		args, diags := g.Args(0)
		var got struct {
			ID string `cty:"id"`
		}
		if err := args.Decode(&got); err != nil || diags.HasErrors() || got.ID != dir+"/raw" {
			t.Errorf("%s: got %q, %v %v", name, got.ID, diags, err)
		}
	}
}

func TestMistakes(t *testing.T) {
	const source = "step \"source\" \"raw\" { id = \"a\" }\n"
	tests := []struct {
		name, src string
		vars      []string
		want      []string
	}{
		{"syntax", "step {", nil, []string{"closing brace"}},
		{"unknown block", "stepp \"a\" \"b\" {}", nil, []string{"stepp", `Did you mean "step"`}},
		{"unknown kind", `step "sourc" "x" {}`, nil, []string{`no step kind "sourc"`, `Did you mean "source"`}},
		{"unknown attribute", `step "source" "x" { idd = 1 }`, nil, []string{"idd", `Did you mean "id"`}},
		{"missing attribute", `step "source" "x" {}`, nil, []string{`"id" is required`}},
		{"duplicate step", source + source, nil, []string{"Duplicate step", "test.hcl:1"}},
		{"wrong type", "step \"source\" \"x\" { id = [] }", nil, []string{"Wrong type", "id of step.source.x must be string, not a list"}},
		{"wrong content", "step \"split\" \"x\" { raw = \"folder\" }", nil, []string{"must be content"}},
		{"one of", source + "step \"split\" \"x\" {\n raw = step.source.raw.tree\n mode = \"fas\"\n}", nil, []string{"one of fast, slow", `Did you mean "fast"`}},
		{"undeclared variable", "locals { x = var.sed }\nvariable \"seed\" { default = 1 }", nil, []string{`variable "sed"`, `Did you mean "seed"`}},
		{"undeclared step", source + "step \"split\" \"x\" { raw = step.source.row.tree }", nil, []string{"no step.source.row", "step.source.raw"}},
		{"unknown output", source + "step \"split\" \"x\" { raw = step.source.raw.tre }", nil, []string{`no output "tre"`, `Did you mean "tree"`}},
		{"key missing", "step \"source\" \"raw\" {\n for_each = toset([\"a\"])\n id = each.key\n}\nstep \"split\" \"x\" { raw = step.source.raw.tree }", nil, []string{"Missing instance key"}},
		{"no such key", "step \"source\" \"raw\" {\n for_each = toset([\"a\"])\n id = each.key\n}\nstep \"split\" \"x\" { raw = step.source.raw[\"b\"].tree }", nil, []string{`no instance "b" of step.source.raw`, `It has "a".`}},
		{"no such attribute", "step \"source\" \"x\" {\n for_each = { k = { name = 1 } }\n id = each.value.nam\n}", nil, []string{`no element "nam" in each.value`, `Did you mean "name"`, `step.source.x["k"]`}},
		{"no such element", "locals {\n l = [\"a\"]\n m = local.l[2]\n}", nil, []string{"no element [2]", "local.l has 1"}},
		{"hidden keys", "variable \"k\" {\n sensitive = true\n default = { s3cret = 1 }\n}\noutput \"o\" { value = var.k[\"b\"] }", nil, []string{"details are left out"}},
		{"Terraform's folder", "locals { x = path.root }", nil, []string{`no attribute of path "root"`, "path.pipeline"}},
		{"several arguments on one line", "variable \"k\" { type = string  default = \"a\" }", nil, []string{"on its own line"}},
		{"text not closed", "locals {\n a = \"b\n}\n", nil, []string{"quotation mark is missing"}},
		{"nested wrong type", "agent \"a\" { command = [\"a\", [\"b\"]] }", nil, []string{"command[1] of an agent must be string, not a list"}},
		{"content as text", source + "step \"board\" \"b\" { note = step.source.raw.tree }", nil, []string{"not content, which cannot be converted to a string"}},
		{"argument of an attempt", "agent \"a\" {\n command = [\"a\"]\n data = \"x\"\n}", nil, []string{`"data" is not expected here. It is an argument of step "solve".`}},
		{"missing brackets", source + "agent \"a\" { command = \"a b\" }", nil, []string{"must be list(string), not a string"}},
		{"wrong default", "variable \"k\" {\n type = list(number)\n default = [1, \"b\"]\n}", nil, []string{`default of variable "k"[1] must be number, and the given string is not a number`}},
		{"unknown type", "variable \"k\" { type = strng }", nil, []string{`Did you mean "string"`, "object({…})"}},
		{"foreign block", "resource \"a\" \"b\" {}", nil, []string{"made of mleflow, variable, locals"}},
		{"quoted dependency", source + "step \"source\" \"y\" {\n id = \"a\"\n depends_on = [\"step.source.raw\"]\n}", nil, []string{"not in quotes"}},
		{"dependency without a list", source + "step \"source\" \"y\" {\n id = \"a\"\n depends_on = step.source.raw\n}", nil, []string{"must be a list of step references"}},
		{"secret in the file", "agent \"a\" {\n command = [\"x\"]\n secrets = { K = join(\"\", [\"s3\", \"cret\"]) }\n}", nil, []string{"secret K", "env:NAME"}},
		{"sensitive output", secretVariable + "output \"o\" { value = [var.k] }", nil, []string{"Sensitive output"}},
		{"division by zero", "output \"o\" { value = [1 / 0] }", nil, []string{"infinite"}},
		{"function without a result", "output \"o\" { value = log(-1, 2) }", nil, []string{`"log" failed: it has no result`}},
		{"range that does not move", "output \"o\" { value = range(0, 1, 0) }", nil, []string{"must not be 0"}},
		{"each", "step \"source\" \"x\" {\n for_each = [\"a\"]\n id = each.vale\n}", nil, []string{`Did you mean "value"?`}},
		{"cycle", "locals {\n a = local.b\n b = local.a\n}", nil, []string{"local.a → local.b → local.a"}},
		{"step cycle", "step \"split\" \"a\" { raw = step.split.b.public }\nstep \"split\" \"b\" { raw = step.split.a.public }", nil, []string{"step.split.a → step.split.b → step.split.a"}},
		{"unknown for_each", source + "step \"source\" \"y\" {\n for_each = range(step.source.raw.count)\n id = each.key\n}", nil, []string{"for_each is not known", "step.source.raw"}},
		{"duplicate key", "step \"source\" \"y\" {\n for_each = [\"a\", \"a\"]\n id = each.key\n}", nil, []string{"Duplicate address", `"a"`}},
		{"private", source + "step \"solve\" \"x\" { data = step.source.raw.tree }", nil, []string{"Private output", "step.source.raw", "test.hcl:1", "made here"}},
		{"private by inheritance", source + "step \"split\" \"s\" { raw = step.source.raw.tree }\nstep \"solve\" \"x\" { data = step.split.s.rest }", nil, []string{"Private output", "step.split.s"}},
		{"private inside an expression", source + "step \"solve\" \"x\" { data = try([step.source.raw.tree][0], null) }", nil, []string{"Private output"}},
		{"each outside", `step "source" "x" { id = each.key }`, nil, []string{"each without for_each"}},
		{"unknown root", `locals { x = stepp.a.b }`, nil, []string{`nothing called "stepp"`, `Did you mean "step"`}},
		{"count", "step \"source\" \"x\" {\n count = 2\n id = \"a\"\n}", nil, []string{"for_each = "}},
		{"bad memory", "step \"source\" \"x\" {\n id = \"a\"\n resources { memory = \"lots\" }\n}", nil, []string{"a size such as"}},
		{"bad timeout", "step \"source\" \"x\" {\n id = \"a\"\n timeout = \"1 day\"\n}", nil, []string{"a duration such as"}},
		{"no memory", "step \"source\" \"x\" {\n id = \"a\"\n resources { memory = 0 }\n}", nil, []string{"memory must be a size such as", "above 0; without memory nothing is reserved"}},
		{"no disk", "step \"source\" \"x\" {\n id = \"a\"\n resources { disk = \"0GB\" }\n}", nil, []string{"disk must be", "above 0"}},
		{"no cpus", "step \"source\" \"x\" {\n id = \"a\"\n resources { cpus = 0 }\n}", nil, []string{"a number above 0; without cpus it is 1"}},
		{"fewer gpus", "step \"source\" \"x\" {\n id = \"a\"\n resources { gpus = -1 }\n}", nil, []string{"an integer of at least 0"}},
		{"no time", "step \"source\" \"x\" {\n id = \"a\"\n timeout = \"0s\"\n}", nil, []string{"above 0; without timeout there is no limit"}},
		{"no backoff", "step \"source\" \"x\" {\n id = \"a\"\n retry {\n attempts = 2\n backoff = \"0s\"\n }\n}", nil, []string{"above 0; without backoff it is 1s"}},
		{"sensitive", "variable \"k\" {\n sensitive = true\n default = \"s3cret\"\n}\nstep \"source\" \"x\" { id = \"${var.k}\" }", nil, []string{"Sensitive value"}},
		{"sensitive keys", secretVariable + "step \"source\" \"x\" {\n for_each = toset([var.k])\n id = \"a\"\n}", nil, []string{"Sensitive value in for_each"}},
		{"sensitive list of keys", secretVariable + "step \"source\" \"x\" {\n for_each = [var.k, \"b\"]\n id = \"a\"\n}", nil, []string{"Sensitive value in for_each"}},
		{"sensitive name of a key", secretVariable + "step \"source\" \"x\" {\n for_each = { (var.k) = 1 }\n id = \"a\"\n}", nil, []string{"Sensitive value in for_each"}},
		{"sensitive command", "variable \"k\" {\n sensitive = true\n default = [\"s3cret\"]\n}\nagent \"a\" { command = var.k }\n" + source + "step \"split\" \"s\" { raw = step.source.raw.tree }\nstep \"solve\" \"x\" {\n data = step.split.s.public\n agent = agent.a\n}", nil, []string{"Sensitive value"}},
		{"variable missing", `variable "k" {}`, nil, []string{"-var k=VALUE", "MLEFLOW_VAR_k"}},
		{"variable typed", "variable \"k\" { type = number }", []string{"k=abc"}, []string{"must be number"}},
		{"variable undeclared", "variable \"agent\" { default = 1 }", []string{"agnet=2"}, []string{`Did you mean "agent"`}},
		{"version", `mleflow { required_version = ">= 9" }`, nil, []string{"needs mleflow >= 9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var in Inputs
			for _, v := range tt.vars {
				in.Assignments = append(in.Assignments, Assignment{Text: v})
			}
			_, diags := load(t, tt.src, in)
			if !diags.HasErrors() {
				t.Fatal("no error")
			}
			text := ""
			for _, d := range diag.ToJSON(diags) {
				text += d.Summary + ": " + d.Detail + "\n"
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("diagnostics lack %q:\n%s", want, text)
				}
			}
			if strings.Contains(text, "s3cret") {
				t.Errorf("a sensitive value is shown:\n%s", text)
			}
		})
	}
}

// What is wrong is told in the order of the instances, every time.
func TestPrivateOutputsAreNamedInOrder(t *testing.T) {
	const src = `
step "source" "raw" {
  for_each = toset([for i in range(20) : format("%02d", i)])
  id       = each.key
}
step "solve" "x" { data = values(step.source.raw)[*].tree }
`
	_, diags := load(t, src, Inputs{})
	var last string
	named := 0
	for _, d := range diags {
		if d.Summary != "Private output in an untrusted step" {
			continue
		}
		if d.Detail <= last {
			t.Fatalf("%q comes after %q", d.Detail, last)
		}
		last = d.Detail
		named++
	}
	if named != 20 {
		t.Errorf("%d of 20 outputs are named:\n%v", named, diags)
	}
}

// An agent whose environment depends on a value is evaluated again when that is
// known, and so is a local that refers to the agent.
func TestValueReachesThroughAnAgent(t *testing.T) {
	g, diags := load(t, `
step "source" "raw" { id = "a" }
agent "a" {
  command = ["true"]
  env     = { N = tostring(step.source.raw.count) }
}
locals { n = agent.a.env["N"] }
step "board" "b" { note = local.n }
`, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	g.SetOutputs(0, cache.Outputs{"tree": {Ref: cache.Ref{ID: digest.Of(nil)}}, "count": {JSON: []byte("7")}})
	args, diags := g.Args(1)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if note := args.Get("note"); !note.RawEquals(cty.StringVal("7")) {
		t.Errorf("note = %#v, want 7", note)
	}
}

// Instances of one block end while others that depend on the block are decided.
func TestOutputsBecomeKnownAtOnce(t *testing.T) {
	g, diags := load(t, `
step "source" "raw" {
  for_each = toset([for i in range(8) : "k${i}"])
  id       = each.key
}
step "board" "b" {
  for_each = step.source.raw
  note     = "${step.source.raw[each.key].count}"
}
`, Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			g.SetOutputs(i, cache.Outputs{"tree": {Ref: cache.Ref{ID: digest.Of(nil)}}, "count": {JSON: []byte(strconv.Itoa(i))}})
			args, diags := g.Args(8 + i)
			if diags.HasErrors() {
				t.Error(diags)
				return
			}
			if note := args.Get("note"); !note.RawEquals(cty.StringVal(strconv.Itoa(i))) {
				t.Errorf("note %d = %#v", i, note)
			}
		})
	}
	group.Wait()
}
