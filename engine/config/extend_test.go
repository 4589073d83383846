package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

const base = `
mleflow {
  remote_cache = "s3://base"
  competitions = ["own"]
}
variable "set" {
  type        = string
  default     = "all"
  description = "Which."
}
variable "seeds" {
  type    = number
  default = 3
}
locals { both = "${var.set}/${var.seeds}" }
output "both" { value = local.both }
`

// write writes files, by path, into a folder and returns where main.hcl is.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, src := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "main.hcl")
}

func noKinds() Options { return Options{Kinds: step.NewRegistry(), Version: "0.1.0"} }

// valueOf expands a pipeline and returns its output both.
func valueOf(t *testing.T, p *Pipeline, in Inputs) string {
	t.Helper()
	values, diags := p.Values(in)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	g, diags := p.Expand(values)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	out, diags := g.OutputValue(p.Outputs[0])
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return out.Value.AsString()
}

func TestExtends(t *testing.T) {
	path := write(t, map[string]string{
		"sub/base.hcl":   base,
		"sub/middle.hcl": "mleflow {\n  extends = \"base.hcl\"\n}\nvariable \"seeds\" { default = 5 }\n",
		"main.hcl":       "mleflow {\n  extends = \"sub/middle.hcl\"\n  remote_cache = \"s3://main\"\n  competitions = [\"more\"]\n}\nvariable \"set\" { default = \"low\" }\n",
	})
	p, diags := Load(path, noKinds())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if got := valueOf(t, p, Inputs{}); got != "low/5" {
		t.Errorf("both = %s", got)
	}
	if got := valueOf(t, p, Inputs{Assignments: []Assignment{{Text: "set=dev"}}}); got != "dev/5" {
		t.Errorf("with -var, both = %s", got)
	}
	if v := p.Variables["set"]; v.Description != "Which." || v.Type != cty.String {
		t.Errorf("what the block leaves out is lost: %+v", v)
	}
	if p.RemoteCache != "s3://main" {
		t.Errorf("remote cache %s", p.RemoteCache)
	}

	// All that was read is recorded, and enough to load it elsewhere.
	record, err := local.Encode(p.LocalFiles().Answers())
	if err != nil {
		t.Fatal(err)
	}
	src := p.Source
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	opts := noKinds()
	opts.Files = map[string][]byte{local.RecordName: record}
	again, diags := Parse("main.hcl", src, opts)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if got := valueOf(t, again, Inputs{}); got != "low/5" {
		t.Errorf("of the record, both = %s", got)
	}
	if got := RemoteCache("main.hcl", src, opts.Files); got != "s3://main" {
		t.Errorf("of the record, remote cache %s", got)
	}
	var folders []string
	for _, f := range CompetitionFolders("main.hcl", src, opts.Files, nil) {
		folders = append(folders, f.Path)
	}
	if diff := cmp.Diff([]string{"own", "more"}, folders); diff != "" {
		t.Error(diff)
	}
	if _, diags := Parse("main.hcl", src, Options{Kinds: opts.Kinds, Version: "0.1.0", Files: map[string][]byte{}}); !strings.Contains(diags.Error(), "was not read by the recorded run") {
		t.Errorf("without the record: %v", diags)
	}
}

func TestExtendsMistakes(t *testing.T) {
	extend := func(name string) string { return "mleflow {\n  extends = \"" + name + "\"\n}\n" }
	for _, tt := range []struct{ name, main, other, want, at string }{
		{"missing", extend("none.hcl"), "", "there is no none.hcl in the pipeline's folder.", "main.hcl:2"},
		{"itself", extend("./main.hcl"), "", "main.hcl extends main.hcl", "main.hcl:2"},
		{"cycle", extend("other.hcl"), extend("main.hcl"), "main.hcl extends other.hcl extends main.hcl", "other.hcl:2"},
		{"above", extend("../other.hcl"), "", "there is no ../other.hcl", "main.hcl:2"},
		{"absolute", extend("/etc/passwd"), "", "is not a relative path", "main.hcl:2"},
		{"empty", extend(""), "", "is not a relative path", "main.hcl:2"},
		{"folder", extend("."), "", "cannot be read", "main.hcl:2"},
		{"two", extend("other.hcl") + extend("other.hcl"), base, "can extend only one other", "main.hcl:5"},
		{"not a string", "mleflow {\n  extends = 1\n}\n", "", "extends must be", "main.hcl:2"},
		{"broken base", extend("other.hcl"), "variable {", "", "other.hcl:1"},
		{"mistake in the base", extend("other.hcl"), "\nlocals { a = var.none }\n", "none", "other.hcl:2"},
		{"local of both", extend("other.hcl") + "locals { both = 1 }\n", base, `is already declared at`, "main.hcl:4"},
		{"type", extend("other.hcl") + "variable \"set\" { type = number }\n", base, `default of variable "set"`, "main.hcl:4"},
		{"default", extend("other.hcl") + "variable \"seeds\" { default = \"many\" }\n", base, `default of variable "seeds"`, "main.hcl:4"},
		{"variable twice", extend("other.hcl") + "variable \"set\" {}\nvariable \"set\" {}\n", base, "is already declared", "main.hcl:5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, map[string]string{"main.hcl": tt.main, "other.hcl": tt.other})
			p, diags := Load(path, noKinds())
			found := slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool {
				return d.Subject != nil && strings.HasSuffix(position(*d.Subject), "/"+tt.at) && strings.Contains(d.Detail, tt.want) && p.Files[d.Subject.Filename] != nil
			})
			if !found {
				t.Errorf("got %v\nwant %q at %s", diags, tt.want, tt.at)
			}
		})
	}
}

func TestInclude(t *testing.T) {
	path := write(t, map[string]string{
		"sub/base.hcl":     base + "mleflow {\n  include = [\"more/*.hcl\"]\n}\nlocals { all = [local.one, local.two] }\n",
		"sub/more/one.hcl": "variable \"extra\" { default = 1 }\nlocals { one = var.extra }\n",
		"sub/more/two.hcl": "locals { two = 2 }\n",
		"main.hcl":         "mleflow {\n  extends = \"sub/base.hcl\"\n  include = [\"*.hcl\", \"sub/more/one.hcl\"]\n}\nvariable \"extra\" { default = 7 }\noutput \"all\" { value = \"${local.all[0]}/${local.all[1]}\" }\n",
	})
	p, diags := Load(path, noKinds())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p.Outputs = p.Outputs[1:]
	if got := valueOf(t, p, Inputs{}); got != "7/2" {
		t.Errorf("all = %s", got)
	}
}

func TestIncludeMistakes(t *testing.T) {
	for _, tt := range []struct{ name, include, other, want string }{
		{"nothing matches", `["*.tf"]`, "", `there is no file that matches "*.tf"`},
		{"above", `["../*.hcl"]`, "", "Files cannot be included"},
		{"absolute", `["/etc/*.hcl"]`, "", "Files cannot be included"},
		{"not a list", `1`, "", "List of strings expected"},
		{"empty", `[""]`, "", "Element 1 is empty"},
		{"includes others", `["other.hcl"]`, "mleflow {\n  include = [\"main.hcl\"]\n}\n", "cannot include or extend others"},
		{"extends another", `["other.hcl"]`, "mleflow {\n  extends = \"main.hcl\"\n}\n", "cannot include or extend others"},
		{"broken", `["other.hcl"]`, "variable {", "other.hcl:1"},
		{"twice declared", `["other.hcl"]`, "locals { a = 1 }\nlocals { a = 2 }\n", "other.hcl:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"main.hcl": "mleflow {\n  include = " + tt.include + "\n}\n"}
			if tt.other != "" {
				files["other.hcl"] = tt.other
			}
			_, diags := Load(write(t, files), noKinds())
			if !diags.HasErrors() || !strings.Contains(diags.Error(), tt.want) {
				t.Errorf("got %v, want %q", diags, tt.want)
			}
		})
	}
}
