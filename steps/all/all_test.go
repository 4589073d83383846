package all_test

import (
	"context"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/all"
	"github.com/mleflow/mleflow/steps/steptest"
)

type noExecutor struct{}

func (noExecutor) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{Reason: executor.Exited}, nil
}

func kinds(t *testing.T) []step.Kind {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return all.Kinds(all.Deps{
		Deps: agentrun.Deps{
			Catalog: catalog, Grader: grading.Local{Metrics: metric.All()},
			Runtimes: executor.NewRegistry(executor.Runtime{Name: "process", Doc: "x", Executor: noExecutor{}}),
		},
		Sources: source.NewRegistry(source.All()...), Commands: noExecutor{},
	})
}

// TestEveryFolderIsListed sees that a kind that has a folder is in the list.
func TestEveryFolderIsListed(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !slices.Contains([]string{"all", "modelblock", "steptest"}, e.Name()) {
			folders = append(folders, e.Name())
		}
	}
	var names []string
	for _, k := range kinds(t) {
		names = append(names, strings.ReplaceAll(k.Name, "-", ""))
	}
	if !slices.Equal(folders, names) {
		t.Errorf("folders %v, kinds %v", folders, names)
	}
}

// TestDocumented sees that everything that the reference pages show is there.
func TestDocumented(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	sentence := func(where, text string) {
		if len(text) < 20 || !strings.HasSuffix(strings.TrimSuffix(text, ")"), ".") && !strings.HasSuffix(text, ".)") {
			t.Errorf("%s: %q is no sentence", where, text)
		}
	}
	for _, k := range kinds(t) {
		sentence(k.Name, k.Doc)
		attrs := slices.Clone(k.Args)
		for _, b := range k.Blocks {
			sentence(k.Name+" block "+b.Name, b.Doc)
			attrs = append(attrs, b.Args...)
		}
		for _, a := range attrs {
			sentence(k.Name+" argument "+a.Name, a.Doc)
			if !name.MatchString(a.Name) {
				t.Errorf("%s: %q is no name of an argument", k.Name, a.Name)
			}
			if slices.Contains([]string{"for_each", "depends_on", "timeout", "retry", "resources"}, a.Name) {
				t.Errorf("%s: the argument %q belongs to the language", k.Name, a.Name)
			}
			if a.Command && a.Cosmetic {
				t.Errorf("%s: %q is run, and must be in the key", k.Name, a.Name)
			}
			if a.Required && a.Default != (cty.Value{}) {
				t.Errorf("%s: the required argument %q has a default", k.Name, a.Name)
			}
			if a.Default != (cty.Value{}) && !a.Default.Type().Equals(a.Type) {
				t.Errorf("%s: the default of %q is %s, not %s", k.Name, a.Name, a.Default.Type().FriendlyName(), a.Type.FriendlyName())
			}
		}
		if !slices.IsSortedFunc(k.Outputs, func(a, b step.Output) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: the outputs are not sorted", k.Name)
		}
		for _, o := range k.Outputs {
			sentence(k.Name+" output "+o.Name, o.Doc)
		}
	}
}

// TestSecrecy sees that what holds answers is private, and that agents and
// what they run in are untrusted.
func TestSecrecy(t *testing.T) {
	secrecies := map[string]step.Secrecy{}
	for _, k := range kinds(t) {
		for _, o := range k.Outputs {
			secrecies[k.Name+"."+o.Name] = o.Secrecy
		}
		if k.Untrusted != (k.Name == "agent-run" || k.Name == "image") {
			t.Errorf("%s: untrusted is %v", k.Name, k.Untrusted)
		}
	}
	for output, want := range map[string]step.Secrecy{
		"download.tree": step.Private, "prepare.private": step.Private, "checksum.private": step.Private,
		"prepare.public": step.Public, "checksum.public": step.Public,
		"grade.report": step.Inherit, "agent-run.submission": step.Inherit, "exec.tree": step.Inherit,
	} {
		if got, ok := secrecies[output]; !ok || got != want {
			t.Errorf("%s: secrecy %v (declared %v), want %v", output, got, ok, want)
		}
	}
}

// TestEveryArgumentDecodes gives every kind a value for every argument: a
// field without an argument, or an argument without a field, is an error of
// the decoder.
func TestEveryArgumentDecodes(t *testing.T) {
	for _, k := range kinds(t) {
		for _, blocks := range []bool{false, true} {
			b := steptest.New(k)
			values := map[string]cty.Value{}
			for _, a := range k.Args {
				values[a.Name] = sample(t, b, a.Type)
			}
			for _, block := range k.Blocks {
				if !blocks {
					continue
				}
				inner := map[string]cty.Value{}
				for _, a := range block.Args {
					inner[a.Name] = sample(t, b, a.Type)
				}
				values[block.Name] = cty.ObjectVal(inner)
			}
			_, err := k.New(b.Args(t, values))
			if err != nil && strings.Contains(err.Error(), "decode arguments") {
				t.Errorf("%s (with blocks: %v): %v", k.Name, blocks, err)
			}
		}
		// Absent arguments must decode, too.
		b := steptest.New(k)
		required := map[string]cty.Value{}
		for _, a := range k.Args {
			if a.Required {
				required[a.Name] = sample(t, b, a.Type)
			}
		}
		if _, err := k.New(b.Args(t, required)); err != nil && strings.Contains(err.Error(), "decode arguments") {
			t.Errorf("%s without optional arguments: %v", k.Name, err)
		}
	}
}

// sample returns some value of a type.
func sample(t *testing.T, b *steptest.Bench, ty cty.Type) cty.Value {
	t.Helper()
	switch {
	case ty == step.ArtifactType:
		return b.Blob(t, "x")
	case ty == step.SecretRefType:
		return cty.CapsuleVal(ty, &step.SecretRef{Ref: "env:X"})
	case ty == cty.String:
		return cty.StringVal("x")
	case ty == cty.Number:
		return cty.NumberIntVal(3)
	case ty == cty.Bool:
		return cty.True
	case ty.IsListType():
		return cty.ListVal([]cty.Value{sample(t, b, ty.ElementType())})
	case ty.IsMapType():
		return cty.MapVal(map[string]cty.Value{"k": sample(t, b, ty.ElementType())})
	case ty.IsObjectType():
		attrs := map[string]cty.Value{}
		for name, a := range ty.AttributeTypes() {
			attrs[name] = sample(t, b, a)
		}
		return cty.ObjectVal(attrs)
	}
	t.Fatalf("no sample of %s (%s)", ty.FriendlyName(), reflect.TypeFor[cty.Type]())
	return cty.NilVal
}

// TestVarying: an attempt, which no one can make again, is what a collection
// keeps longest.
func TestVarying(t *testing.T) {
	if names := all.Varying(); !slices.Contains(names, "agent-run") || slices.Contains(names, "prepare") {
		t.Errorf("varying kinds: %v", names)
	}
}
