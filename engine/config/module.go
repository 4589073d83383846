package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// A module's blocks become blocks of the pipeline. References in its files are renamed
// where they are parsed, so nothing else knows of modules: local.a of the module "m" has
// the root module.m.local, and step.grade.score is step.grade.m.score.

// module is a module block whose files are being loaded.
type module struct {
	// name is the path of the module's names, such as "outer.inner".
	name string
	// source is the folder or file, and dir the folder, relative to the pipeline's folder.
	source, dir string
	vars        map[string]*Variable
	above       *module
	at          hcl.Range
}

// What modules of one pipeline may have together, and the summary of what they may not.
const maxModules, maxModuleBytes, notInModule = 100, 16 << 20, "Not in a module"

// qualified returns a name of a module as the pipeline knows it; nil is the pipeline itself.
func (m *module) qualified(name string) string {
	if m == nil {
		return name
	}
	return m.name + "." + name
}

// root returns the root of the references to what a module declares.
func (m *module) root(base string) string {
	if m == nil {
		return base
	}
	return "module." + m.name + "." + base
}

// baseOf returns what a root is in its own module: "local" of "module.m.local".
func baseOf(root string) string { return root[strings.LastIndexByte(root, '.')+1:] }

// module loads the files of a module:
//
//	module "common" {
//	  source = "../common"
//	  seeds  = 3
//	}
func (l *loader) module(b *hcl.Block) {
	before := len(l.diags)
	m := &module{name: l.in.qualified(l.name("module", b)), above: l.in, at: b.DefRange, vars: map[string]*Variable{}}
	attrs, diags := b.Body.JustAttributes()
	l.add(diags)
	source := attrs["source"]
	switch old, given := l.modules[m.name], l.text(literalString(source)); {
	case l.diags[before:].HasErrors():
		return
	case old != nil:
		l.duplicate("module", m.name, b.DefRange, old.at)
		return
	case source == nil:
		l.fail(b.DefRange, "Module without source", "Write source = \"../common\", the folder of the module's files, or the path of one file.")
		return
	case len(l.modules) == maxModules:
		l.fail(b.DefRange, "Too many modules", "A pipeline has at most %d modules, those of modules included.", maxModules)
		return
	case !l.locate(m, given, source.Expr.Range()):
		l.unread = true
		return
	}
	delete(attrs, "source")
	l.modules[m.name] = m
	l.p.folders[m.root("path")], l.p.modules[m.name] = filepath.ToSlash(m.dir), m.at
	l.p.named[m.root("output")] = map[string]*node{}
	texts, ok := l.moduleTexts(m, source)
	if l.unread = l.unread || !ok; !ok {
		return
	}
	dir := l.dir
	l.in = m
	l.read(texts)
	l.in, l.dir = m.above, dir
	l.inputs(m, attrs)
}

// locate finds the place of a module. Whether its text may be read is decided when it is.
func (l *loader) locate(m *module, source string, at hcl.Range) bool {
	path := filepath.FromSlash(source)
	if source == "" || filepath.IsAbs(path) || strings.Contains(source, "::") || strings.Contains(source, ":/") {
		l.fail(at, "Invalid source of a module", "%q is not a relative path. A module is a folder or a file beside the pipeline, such as \"../common\" or \"./grading.hcl\"; check out the repository of another.", source)
		return false
	}
	m.source = filepath.Join(l.dir, path)
	m.dir = m.source
	if filepath.Ext(m.source) == ".hcl" {
		m.dir = filepath.Dir(m.source)
	}
	chain := []string{filepath.ToSlash(m.source)}
	for of := l.in; of != nil; of = of.above {
		if chain = append(chain, filepath.ToSlash(of.source)); of.source == m.source {
			slices.Reverse(chain)
			l.fail(at, "Cycle of modules", "A module cannot contain itself: %s.", strings.Join(chain, " contains "))
			return false
		}
	}
	return true
}

// moduleTexts reads the files of a module.
func (l *loader) moduleTexts(m *module, source *hcl.Attribute) (texts []text, ok bool) {
	names := []string{filepath.Base(m.source)}
	if m.dir == m.source {
		found, err := l.files.from.List(filepath.ToSlash(m.dir), "*.hcl")
		if err == nil && len(found.List) == 0 {
			err = fmt.Errorf("%s has no file *.hcl", filepath.ToSlash(m.dir))
		}
		if err != nil {
			l.fail(source.Expr.Range(), "Module cannot be read", "%s A module is in the pipeline's folder, in its Git repository, or below the working directory.", diag.Sentence(err.Error()))
			return nil, false
		}
		names = lists.Where(found.List, func(name string) bool { return !strings.HasSuffix(name, ".lock.hcl") })
	}
	before := len(l.diags)
	for _, name := range names {
		name = filepath.Join(m.dir, name)
		t, diags := l.files.readIncluded(source, name, text{path: l.p.Path})
		l.add(diags)
		if t.file != nil {
			if l.moduleBytes += len(t.file.Bytes); l.moduleBytes > maxModuleBytes {
				l.fail(source.Expr.Range(), "Modules too large", "The files of all modules may have %d MiB together; a module that is used twice counts twice.", maxModuleBytes>>20)
				return nil, false
			}
			l.p.Files[t.path] = t.file
		}
		texts = append(texts, t)
	}
	return texts, !l.diags[before:].HasErrors()
}

// inputs gives the variables of a module the values of its block.
func (l *loader) inputs(m *module, attrs hcl.Attributes) {
	names := slices.Sorted(maps.Keys(m.vars))
	for _, a := range sortedAttrs(attrs) {
		switch {
		case m.vars[a.Name] != nil:
		case slices.Contains([]string{"for_each", "count", "depends_on", "version", "providers"}, a.Name):
			l.fail(a.NameRange, "Not an argument of modules", "A module has source and its variables. To repeat it, write one block each; to repeat its steps, pass a set and write for_each in its steps.")
		default:
			l.fail(a.NameRange, "Undeclared variable of a module", "The module declares no variable %q.%s", a.Name, diag.DidYouMean(a.Name, names))
		}
	}
	for _, name := range names {
		v := m.vars[name]
		n := &node{root: m.root("var"), name: name, at: v.Range}
		given := attrs[name]
		if given != nil {
			n.at, n.exprs = given.Range, []hcl.Expression{given.Expr}
		} else if v.Default == cty.NilVal {
			l.fail(m.at, "Missing input of a module", "The module needs %s: write it in this block. It is declared at %s.", name, position(v.Range))
		}
		n.value = func(ev *evaluator) (cty.Value, diag.List) { return ev.input(n.root, v, given) }
		l.enter(n)
	}
}

// input is the value of a variable of a module.
func (ev *evaluator) input(root string, v *Variable, given *hcl.Attribute) (cty.Value, diag.List) {
	val, at := v.Default, v.Range
	if given != nil {
		var diags diag.List
		at = given.Expr.Range()
		if val, diags = ev.alone(given.Expr); diags.HasErrors() {
			return cty.DynamicVal, diags
		}
	}
	out, wrong := v.accept(val)
	if wrong != "" {
		if concealed(bounded.Marks(val)) {
			wrong = " has another type; the value is not shown, because it is sensitive or private"
		}
		return cty.DynamicVal, diag.List{diag.Error(at, "Wrong value of a variable", "Variable %q%s.", v.Name, wrong)}
	}
	if len(v.Validations) > 0 && !out.IsWhollyKnown() {
		return cty.DynamicVal, diag.List{diag.Error(at, "Input is not known", "Variable %q has a validation, so its value must be known before anything runs. This one depends on the result of a step.", v.Name)}
	}
	out = v.marked(out)
	return out, ev.pipeline.validate(root, v, out)
}

// qualify renames the references of a file's body to what its module, or the pipeline
// itself, declares.
func (m *module) qualify(body hcl.Body) {
	_ = hclsyntax.Walk(body.(*hclsyntax.Body), &qualifier{module: m, done: map[*hclsyntax.ScopeTraversalExpr]bool{}})
}

type qualifier struct {
	*module
	// scopes are the names that enclosing for expressions declare.
	scopes []map[string]struct{}
	done   map[*hclsyntax.ScopeTraversalExpr]bool
}

// Enter implements hclsyntax.Walker.
func (q *qualifier) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch n := n.(type) {
	case hclsyntax.ChildScope:
		q.scopes = append(q.scopes, n.LocalNames)
	case *hclsyntax.ScopeTraversalExpr:
		shadowed := slices.ContainsFunc(q.scopes, func(names map[string]struct{}) bool { _, has := names[n.Traversal.RootName()]; return has })
		if !shadowed && !q.done[n] {
			q.done[n], n.Traversal = true, q.traversal(slices.Clone(n.Traversal))
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (q *qualifier) Exit(n hclsyntax.Node) hcl.Diagnostics {
	if _, is := n.(hclsyntax.ChildScope); is {
		q.scopes = q.scopes[:len(q.scopes)-1]
	}
	return nil
}

// traversal renames a reference.
func (q *qualifier) traversal(t hcl.Traversal) hcl.Traversal {
	root := t[0].(hcl.TraverseRoot)
	switch root.Name {
	case "var", "local", "model", "agent", "benchmark", "path":
		root.Name = q.root(root.Name)
	case "step":
		if len(t) < 3 {
			return t
		}
		if name, ok := member(t[2]); ok {
			t[2] = hcl.TraverseAttr{Name: q.qualified(name), SrcRange: t[2].SourceRange()}
		}
	case "module":
		if len(t) < 2 {
			return t
		}
		name, ok := member(t[1])
		if !ok {
			return t
		}
		inner := &module{name: q.qualified(name)}
		root.Name, root.SrcRange = inner.root("output"), hcl.RangeBetween(root.SrcRange, t[1].SourceRange())
		t = t[1:]
	}
	t[0] = root
	return t
}
