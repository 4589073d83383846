package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var largeNumber = regexp.MustCompile(`[0-9][0-9_.eE+]{2,}`)

// FuzzLoad parses and expands any text: it may be refused, it may not panic
// or go on for ever, and what has no errors has instances in order.
func FuzzLoad(f *testing.F) {
	f.Add(chain)
	samples, err := filepath.Glob("../../pipelines/*.hcl")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range samples {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add("locals { a = [for k, v in {a = 1} : \"${k}${v}\"] }\nstep \"source\" \"x\" {\n for_each = toset(local.a)\n id = each.value\n depends_on = [step.source.y]\n}\nstep \"source\" \"y\" { id = null }")
	f.Add("variable \"v\" {\n type = object({ a = optional(number, 3) })\n default = {}\n validation {\n condition = var.v.a > 2\n error_message = \"no\"\n }\n}\noutput \"o\" { value = var.v.a }")
	f.Fuzz(func(t *testing.T, src string) {
		// Large numbers make large pipelines, which are slow but not wrong.
		if len(src) > 4096 || largeNumber.MatchString(src) {
			return
		}
		p, diags := Parse("fuzz.hcl", []byte(src), Options{Kinds: testKinds(), Version: "0.1.0"})
		if diags.HasErrors() {
			return
		}
		values, diags := p.Values(Inputs{})
		if diags.HasErrors() {
			return
		}
		g, diags := p.Expand(values)
		if diags.HasErrors() {
			return
		}
		for i, inst := range g.Instances {
			for _, d := range inst.Deps {
				if d >= i {
					t.Fatalf("%s comes before %s, which it depends on", inst.Addr, g.Instances[d].Addr)
				}
			}
			if _, diags := g.Args(i); diags.HasErrors() && !inst.Dynamic {
				t.Fatal(diags)
			}
		}
		for _, o := range p.Outputs {
			_, _ = g.OutputValue(o)
		}
	})
}
