package config

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// value evaluates an expression of a pipeline.
func evaluate(t *testing.T, expr string) (cty.Value, string) {
	t.Helper()
	g, diags := load(t, "locals { x = "+expr+" }\n", Inputs{})
	if diags.HasErrors() {
		return cty.NilVal, diags.Error()
	}
	return g.eval.values["local"]["x"], ""
}

// TestTerraformFunctions has the examples of Terraform's reference; digests are those of
// the coreutils.
func TestTerraformFunctions(t *testing.T) {
	for _, test := range []struct{ expr, want string }{
		{`alltrue(["true", true])`, `true`}, {`alltrue([true, false])`, `false`}, {`alltrue([])`, `true`}, {`alltrue([true, null])`, `false`},
		{`anytrue(["true"])`, `true`}, {`anytrue([true, false])`, `true`}, {`anytrue([])`, `false`}, {`anytrue([null])`, `false`},
		{`startswith("hello world", "hello")`, `true`}, {`endswith("hello world", "hello")`, `false`}, {`strcontains("hello world", "wor")`, `true`},
		{`sum([10, 13, 6, 4.5])`, `33.5`}, {`sum(toset([1, 2]))`, `3`}, {`sum([0.1, 0.2])`, `0.3`},
		{`basename("foo/bar/baz.txt")`, `"baz.txt"`}, {`dirname("foo/bar/baz.txt")`, `"foo/bar"`}, {`dirname("baz.txt")`, `"."`},
		{`sha256("hello world")`, `"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"`},
		{`urlencode("Hello World!")`, `"Hello+World%21"`}, {`timeadd("2017-11-22T00:00:00Z", "10m")`, `"2017-11-22T00:10:00Z"`}, {`formatdate("DD MMM YYYY", "2018-01-02T23:12:01Z")`, `"02 Jan 2018"`},
		{`yamldecode("hello: world")`, `{"hello":"world"}`}, {`yamldecode("a: &x [1, true, null, 1.5]\nb: *x\n")`, `{"a":[1,true,null,1.5],"b":[1,true,null,1.5]}`},
		{`yamldecode("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n").b`, `{"p":1,"q":3}`}, {`csvdecode("a,b\n1,2\n")[0].b`, `"2"`},
	} {
		if v, wrong := evaluate(t, "jsonencode("+test.expr+")"); wrong != "" || v.AsString() != test.want {
			t.Errorf("%s is %#v %s; want %s", test.expr, v, wrong, test.want)
		}
	}
	for expr, want := range map[string]string{
		`sum([])`: "empty", `sum([1, null])`: "null", `yamldecode("a: [")`: "cannot be read as YAML", `yamldecode("1: a")`: "in quotes", `yamldecode("a: 1\n---\nb: 2\n")`: "several documents",
		`yamldecode("a: .inf")`: "Inf", `yamldecode("a: &a [*a]")`: "nested", `yamldecode("a: 1\na: 2")`: "already defined",
	} {
		if v, wrong := evaluate(t, expr); !strings.Contains(wrong, want) {
			t.Errorf("%s is %#v %s; want %s", expr, v, wrong, want)
		}
	}
}

// A value that is not known, or a mark, passes through the functions.
func TestTerraformFunctionsOfLaterValues(t *testing.T) {
	const source = "step \"source\" \"raw\" { id = \"a\" }\n"
	for expr, known := range map[string]bool{
		`sum([1, step.source.raw.count])`: false, `anytrue([step.source.raw.count > 1])`: false, `anytrue([true, step.source.raw.count > 1])`: true, `sha256("${step.source.raw.count}")`: false,
		`yamldecode("${step.source.raw.count}")`: false, `alltrue([false, step.source.raw.count > 1])`: true,
	} {
		g, diags := load(t, source+"locals { x = "+expr+" }\nstep \"board\" \"b\" { note = jsonencode(local.x) }\n", Inputs{})
		if diags.HasErrors() {
			t.Errorf("%s: %s", expr, diags)
			continue
		}
		if b := g.Instances[1]; len(b.Deps) != 1 || b.Dynamic == known {
			t.Errorf("%s: depends on %v, known is %v", expr, b.Deps, !b.Dynamic)
		}
	}
}
