package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/step"
)

// TestMarksAreComplete evaluates random expressions over values that are known, known
// later, private and sensitive, with different values of what they may read. An
// expression whose value changes with something that it reads has its mark, and had it
// while the value was not known. MLEFLOW_EXPRESSIONS is their number.
func TestMarksAreComplete(t *testing.T) {
	n := 400
	if text := os.Getenv("MLEFLOW_EXPRESSIONS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	w := newWorld(t)
	known, later := 0, 0
	for seed := range n {
		g := &writer{rng: rand.New(rand.NewPCG(uint64(seed), 49))}
		expr := g.any(1 + g.rng.IntN(4))
		switch w.check(expr, g.rng) {
		case "known":
			known++
		case "later":
			later++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if least := n / 20; known < least || later < least {
		t.Errorf("%d expressions are known at once and %d later, want more than %d of each", known, later, least)
	}
}

// world is what random expressions read.
type world struct {
	t     *testing.T
	kinds *step.Registry
	// dirs are folders of a pipeline with the same private file names.
	dirs []string
}

func newWorld(t *testing.T) *world {
	outputs := func(s step.Secrecy) []step.Output {
		return []step.Output{artifactOut("content", s), {Name: "flag", Type: cty.Bool, Secrecy: s}, {Name: "list", Type: cty.List(cty.String), Secrecy: s},
			{Name: "map", Type: cty.Map(cty.String), Secrecy: s}, {Name: "number", Type: cty.Number, Secrecy: s}, {Name: "text", Type: cty.String, Secrecy: s}}
	}
	none := func(step.Args) (step.Step, error) { return nil, nil }
	w := &world{t: t, kinds: step.NewRegistry(step.Kind{Name: "open", Version: "1", New: none, Outputs: outputs(step.Public)},
		step.Kind{Name: "answers", Version: "1", New: none, Outputs: outputs(step.Private)})}
	for _, text := range []string{"x", "zz,y,x"} {
		dir := t.TempDir()
		private := filepath.Join(dir, "c", "prepared", "private")
		for path, content := range map[string]string{filepath.Join(private, "answers"): text, filepath.Join(dir, "template"): "${v}%{ for x in split(\",\", v) }${x};%{ endfor }"} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		w.dirs = append(w.dirs, dir)
	}
	return w
}

const worldSteps = `
variable "secret" { sensitive = true }
step "open" "one" {}
step "answers" "one" {}
step "open" "some" { for_each = toset(["x", "y"]) }
step "answers" "some" { for_each = toset(["x", "y"]) }
locals {
  k    = "x"
  late = step.open.one.text
  all  = { for k, v in step.open.some : k => v.text }
  e    = %s
}
`

// expand expands the pipeline with an expression, or returns nil if that is refused.
func (w *world) expand(expr, dir, secret string) *Graph {
	p, diags := Parse(filepath.Join(dir, "p.hcl"), fmt.Appendf(nil, worldSteps, expr), Options{Kinds: w.kinds, Version: "0.1.0"})
	if diags.HasErrors() {
		w.t.Fatalf("%s: %v", expr, diags)
	}
	values, diags := p.Values(Inputs{Assignments: []Assignment{{Text: "secret=" + secret}}})
	if diags.HasErrors() {
		w.t.Fatal(diags)
	}
	g, diags := p.Expand(values)
	if diags.HasErrors() {
		return nil
	}
	return g
}

// result is the value of the expression: its text, or that there is none.
type result struct {
	text  string
	marks map[string]bool
}

// evaluate evaluates the expression when the outputs are known.
func (w *world) evaluate(g *Graph, outputs map[string]string) result {
	g = g.Fresh()
	if outputs != nil {
		for i, inst := range g.Instances {
			known := cache.Outputs{}
			for _, o := range inst.Step.Kind.Outputs {
				known[o.Name] = cache.Value{JSON: []byte(outputs[inst.Addr.String()+"."+o.Name])}
			}
			g.SetOutputs(i, known)
		}
	}
	g.eval.refresh()
	e := g.Pipeline.named["local"]["e"].exprs[0]
	v, diags := g.eval.evaluate(e, g.eval.scope([]hcl.Expression{e}))
	if diags.HasErrors() {
		return result{text: "error"}
	}
	r := result{marks: map[string]bool{}}
	for m := range bounded.Marks(v) {
		r.marks[markName(m)] = true
	}
	plain, _ := v.UnmarkDeep()
	plain, _ = cty.Transform(plain, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if a := artifactOf(v); a != nil {
			return cty.StringVal(a.Ref.ID.String() + a.From + a.Output), nil
		}
		return v, nil
	})
	if r.text = fmt.Sprintf("%#v", plain); !plain.IsWhollyKnown() {
		r.text = ""
	}
	return r
}

func markName(m any) string {
	if o, ok := m.(origin); ok {
		return o.inst.Addr.String() + "." + o.inst.Step.Kind.Outputs[o.out].Name
	}
	return fmt.Sprint(m)
}

// check checks one expression, and reports whether its value was known at once.
func (w *world) check(expr string, rng *rand.Rand) (when string) {
	g := w.expand(expr, w.dirs[0], "y")
	if g == nil {
		return "refused"
	}
	plan := w.evaluate(g, nil)
	outputs := map[string]string{}
	for _, inst := range g.Instances {
		for _, o := range inst.Step.Kind.Outputs {
			outputs[inst.Addr.String()+"."+o.Name] = draw(rng, o.Type)
		}
	}
	first := w.evaluate(g, outputs)
	if plan.text != "" { // it is not evaluated again
		if first.text != plan.text && first.text != "error" {
			w.t.Errorf("%s\nis %s, and later %s", expr, plan.text, first.text)
		}
		first = plan
	}
	for m := range first.marks {
		if !plan.marks[m] {
			w.t.Errorf("%s\nhas the mark %s, which it did not have before it was known: it had %v", expr, m, names(plan.marks))
		}
	}
	compare := func(source string, other result) {
		switch {
		case other.text == first.text, other.text == "error", first.text == "error": // an error is no value
		case !plan.marks[source]:
			w.t.Errorf("%s\nreads %s: %s, then %s; the marks of the plan are %v", expr, source, first.text, other.text, names(plan.marks))
		case !first.marks[source], !other.marks[source]:
			w.t.Errorf("%s\nreads %s: %s, then %s; the marks are %v and %v", expr, source, first.text, other.text, names(first.marks), names(other.marks))
		}
	}
	for _, inst := range g.Instances {
		for _, o := range inst.Step.Kind.Outputs {
			if source := inst.Addr.String() + "." + o.Name; o.Type != step.ArtifactType && plan.text == "" {
				changed := maps.Clone(outputs)
				changed[source] = draw(rng, o.Type)
				compare(source, w.evaluate(g, changed))
			}
		}
	}
	for source, other := range map[string]*Graph{"sensitive": w.expand(expr, w.dirs[0], "x,zz"), "c/prepared/private/answers": w.expand(expr, w.dirs[1], "y")} {
		if other != nil && plan.text != "" {
			compare(source, w.evaluate(other, nil))
		} else if other != nil {
			compare(source, w.evaluate(other, outputs))
		}
	}
	if plan.text == "" {
		return "later"
	}
	return "known"
}

func names(marks map[string]bool) []string { return slices.Sorted(maps.Keys(marks)) }

// draw returns a value of a type as JSON.
func draw(rng *rand.Rand, ty cty.Type) string {
	word := func() string { return []string{"x", "y", "zz", "", "k,x"}[rng.IntN(5)] }
	var v any
	switch {
	case ty == cty.String:
		v = word()
	case ty == cty.Number:
		v = rng.IntN(3)
	case ty == cty.Bool:
		v = rng.IntN(2) == 0
	case ty.IsListType():
		list := []string{}
		for range rng.IntN(4) {
			list = append(list, word())
		}
		v = list
	default:
		all := map[string]string{}
		for range rng.IntN(4) {
			all[word()] = word()
		}
		v = all
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// writer writes random expressions.
type writer struct {
	rng *rand.Rand
	// loops are the variables of the loops around, which are strings.
	loops []string
}

func (w *writer) pick(choices ...func() string) string { return choices[w.rng.IntN(len(choices))]() }

// f formats an expression whose parts are written by the functions.
func f(format string, parts ...func() string) func() string {
	return func() string {
		args := make([]any, len(parts))
		for i, p := range parts {
			args[i] = p()
		}
		return fmt.Sprintf(format, args...)
	}
}

func lit(s string) func() string { return func() string { return s } }

// source is an output of a step, or of one of several.
func (w *writer) source(name string, n int) string {
	kind := []string{"open", "answers"}[w.rng.IntN(2)]
	return w.pick(lit("step."+kind+".one."+name), lit(`step.`+kind+`.some["y"].`+name), f("step."+kind+".some[%s]."+name, w.str(n)),
		f("(%s ? step."+kind+`.some["x"] : step.`+kind+".one)."+name, w.bool(n)), f("try(step."+kind+".some[%s], step."+kind+".one)."+name, w.str(n)))
}

func (w *writer) any(n int) string {
	return w.pick(w.str(n), w.num(n), w.bool(n), w.list(n), w.dict(n), f("{ a = %s, (%s) = %s }", w.any1(n-1), w.str(n-1), w.any1(n-1)), f("[%s, %s]", w.any1(n-1), w.any1(n-1)))
}

func (w *writer) any1(n int) func() string { return func() string { return w.any(max(0, n)) } }

func (w *writer) str(n int) func() string {
	return func() string {
		leaves := []func() string{lit(`"x"`), lit(`"y"`), lit("local.k"), lit("local.late"), lit("var.secret"), lit(`file("c/prepared/private/answers")`), f("%s", func() string { return w.source("text", 0) })}
		for _, name := range w.loops {
			leaves = append(leaves, lit(name), lit(name))
		}
		if n <= 0 {
			leaves[len(leaves)-1-len(w.loops)*2] = lit(`"zz"`)
			return w.pick(leaves...)
		}
		s, b, l, m, i := w.str(n-1), w.bool(n-1), w.list(n-1), w.dict(n-1), w.num(n-1)
		return w.pick(append(leaves, func() string { return w.source("text", n-1) },
			f(`"${%s}-${%s}"`, s, s), f("upper(%s)", s), f("(%s ? %s : %s)", b, s, s), f("%s[%s]", l, i), f("%s[%s]", m, s), f("try(%s, %s)", s, s), f("try(%s[%s], %s)", l, i, s),
			f("lookup(%s, %s, %s)", m, s, s), f("element(%s, %s)", l, i), f(`join(",", %s)`, l), f("coalesce(%s, %s)", s, s), f(`templatefile("template", { v = %s })`, s),
			f("jsondecode(jsonencode({ a = %s })).a", s), f("substr(%s, 0, %s)", s, i), f("replace(%s, %s, %s)", s, s, s), f(`"%%{ if %s }a%%{ else }${%s}%%{ endif }"`, b, s),
			f(`"%%{ for i in %s }${i}%%{ if %s }.%%{ endif }%%{ endfor }"`, l, b), f("keys(%s)[0]", m), f("values(%s)[%s]", m, i), f("tostring(%s)", i), f(`split(",", %s)[0]`, s),
			f("{ x = %s, y = %s }[%s]", s, s, s), f("[%s, %s][%s]", s, s, i), f("{ (%s) = %s }[%s]", s, s, s), f("local.all[%s]", s), f(`regex("[a-z]", %s)`, s),
			f("merge(%s, { x = %s }).x", m, s), f("[for o in [{ t = %s }] : o][*].t[0]", s), f("zipmap([%s], [%s])[%s]", s, s, s), f(`format("%%s", %s)`, s), f("sort(%s)[0]", l),
			f("flatten([%s, [%s]])[0]", l, s), f("setproduct([%s], %s)[0][0]", s, l), f("{ for k, v in step.open.some : v.text => k... }[%s][0]", s), f("coalescelist(%s, %s)[0]", l, l))...)
	}
}

func (w *writer) num(n int) func() string {
	return func() string {
		if n <= 0 {
			return w.pick(lit("0"), lit("1"), func() string { return w.source("number", 0) })
		}
		s, b, l, i := w.str(n-1), w.bool(n-1), w.list(n-1), w.num(n-1)
		return w.pick(lit("1"), func() string { return w.source("number", n-1) }, f("strlen(%s)", s), f("length(%s)", l), f("length(%s)", s), f("(%s ? %s : %s)", b, i, i), f("max(%s, %s)", i, i),
			f("max(0, [for s in %s : strlen(s)]...)", l), f("%s + %s", i, i), f("-%s", i), f("length(toset(%s))", l), f("try(tonumber(%s), %s)", s, i), f("index(%s, %s)", l, s))
	}
}

func (w *writer) bool(n int) func() string {
	return func() string {
		if n <= 0 {
			return w.pick(lit("true"), lit("false"), func() string { return w.source("flag", 0) })
		}
		s, b, l, i, m := w.str(n-1), w.bool(n-1), w.list(n-1), w.num(n-1), w.dict(n-1)
		return w.pick(func() string { return w.source("flag", n-1) }, f("%s == %s", s, s), f("%s != %s", l, l), f("contains(%s, %s)", l, s), f("can(%s)", w.any1(n-1)), f("can(%s[%s])", m, s), f(`can(regex("y", %s))`, s),
			f("!%s", b), f("(%s && %s)", b, b), f("(%s || %s)", b, b), f("%s > %s", i, i), f("can(%s[%s])", l, i), f("tobool(%s)", b), f("%s == null", s), f("length(%s) > 1", m))
	}
}

// inLoop writes a loop whose body may use its variables.
func (w *writer) inLoop(format string, names []string, n int, parts ...func() string) func() string {
	return func() string {
		over := parts[0]()
		w.loops = append(w.loops, names...)
		defer func() { w.loops = w.loops[:len(w.loops)-len(names)] }()
		return f(format, append([]func() string{lit(over)}, parts[1:]...)...)()
	}
}

func (w *writer) list(n int) func() string {
	return func() string {
		if n <= 0 {
			return w.pick(lit(`["x", "y"]`), lit("values(step.open.some)[*].text"), lit("[]"), func() string { return w.source("list", 0) })
		}
		s, b, l, m, i := w.str(n-1), w.bool(n-1), w.list(n-1), w.dict(n-1), w.num(n-1)
		v := fmt.Sprintf("v%d", len(w.loops))
		return w.pick(func() string { return w.source("list", n-1) }, f("[%s, %s]", s, s), w.inLoop("[for "+v+" in %s : %s]", []string{v}, n, l, s), w.inLoop("[for "+v+" in %s : "+v+" if %s]", []string{v}, n, l, b),
			w.inLoop("[for "+v+" in %s : %s if %s]", []string{v}, n, l, s, b), f(`split(",", %s)`, s), f("concat(%s, %s)", l, l), f("concat([], %s...)", f("[%s]", l)), f("keys(%s)", m), f("values(%s)", m),
			f("slice(%s, 0, %s)", l, i), f("reverse(%s)", l), f("distinct(%s)", l), f("sort(%s)", l), f("compact(%s)", l), f("tolist(toset(%s))", l), f("(%s ? %s : %s)", b, l, l), f("try(%s, %s)", l, l),
			f("[for k, v in step.answers.some : v.text if %s]", b), f("[for k, v in step.open.some : k if v.flag]"), f("setunion(%s, %s)", l, l), f("regexall(%s, %s)", s, s), f("formatlist(%s, %s)", s, l),
			f("chunklist(%s, 1)[0]", l), f("setsubtract(%s, %s)", l, l), f("values(step.answers.some)[*].text"), f("%s[*]", l))
	}
}

func (w *writer) dict(n int) func() string {
	return func() string {
		if n <= 0 {
			return w.pick(lit(`{ x = "y" }`), lit("{}"), lit("local.all"), func() string { return w.source("map", 0) })
		}
		s, b, l, m := w.str(n-1), w.bool(n-1), w.list(n-1), w.dict(n-1)
		k, v := fmt.Sprintf("k%d", len(w.loops)), fmt.Sprintf("v%d", len(w.loops))
		return w.pick(func() string { return w.source("map", n-1) }, f("{ x = %s, y = %s }", s, s), f("{ x = %s, (%s) = %s }", s, s, s), w.inLoop("{ for "+k+", "+v+" in %s : "+k+" => %s }", []string{k, v}, n, m, s),
			w.inLoop("{ for "+k+", "+v+" in %s : %s => "+v+" if %s }", []string{k, v}, n, m, s, b), f("merge(%s, %s)", m, m), f("zipmap(%s, %s)", l, l), f("(%s ? %s : %s)", b, m, m), f("try(%s, %s)", m, m),
			f("{ for k, v in step.open.some : k => v.text if %s }", b), f("{ for k, v in step.answers.some : k => v.text if step.open.some[k].flag }"), f("tomap(%s)", m), f("jsondecode(jsonencode(%s))", m))
	}
}
