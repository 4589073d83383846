package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// Load reads and checks the pipeline file at path, or the shipped one of that
// name if there is none. The pipeline is usable
// only if the list has no errors; it is never nil, so that its Files can show
// snippets.
func Load(path string, opts Options) (*Pipeline, diag.List) {
	src, err := ReadSource(path)
	if errors.Is(err, fs.ErrNotExist) && opts.Shipped != nil && filepath.Base(path) == path {
		if text, missing := fs.ReadFile(opts.Shipped, path); missing == nil {
			src, err = text, nil
		}
	}
	if err != nil {
		p := &Pipeline{Path: path, local: local.Recorded(filepath.Dir(path), nil)}
		return p, diag.List{diag.General("Pipeline file cannot be read", "%s", err)}
	}
	return Parse(path, src, opts)
}

// maxSource is the maximum size of a file of a pipeline or of variables in bytes.
const maxSource = 64 << 20

// ReadSource reads a file of a pipeline or of variables that the user named. Errors show
// lines of it. A link may therefore lead out of the repository only to a file with the
// same ending, which no key or credential has.
func ReadSource(path string) ([]byte, error) {
	real, err := checkout.Follow(path)
	if err == nil && !checkout.Shows(real, checkout.Roots(filepath.Dir(path))) && (filepath.Ext(path) == "" || filepath.Ext(real) != filepath.Ext(path)) {
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is a link, and %w: name the file itself", checkout.ErrOutside)}
	}
	if err != nil {
		return nil, err
	}
	return checkout.ReadFile(real, maxSource)
}

// Parse is Load for a text that was already read; path is the name shown in
// ranges.
func Parse(path string, src []byte, opts Options) (*Pipeline, diag.List) {
	p := newPipeline(path, opts)
	p.Source = src
	if opts.Files != nil {
		var err error
		if p.local, err = recorded(path, opts.Files); err != nil {
			return p, diag.List{diag.Failure("Recorded files cannot be read", err)}
		}
	}
	p.funcs = p.budget.Functions(Functions(opts.Functions))
	maps.Copy(p.funcs, localFunctions(p.local, p.funcs, p.budget))
	r := reader{from: p.local, budget: p.budget}
	files, diags := r.texts(path, src)
	for _, f := range files {
		p.Files[f.path] = f.file
	}
	if diags.HasErrors() {
		return p, diags
	}
	l := loader{p: p, opts: opts, diags: diags, files: r, modules: map[string]*module{}}
	l.read(files)
	return p, l.link()
}

// read reads the blocks of files, which are the pipeline's or those of a module.
func (l *loader) read(files []text) {
	modules := slices.ContainsFunc(files, func(f text) bool { return bytes.Contains(f.file.Bytes, []byte("module")) })
	for _, f := range files {
		l.dir = filepath.Dir(f.name)
		if modules || l.in != nil {
			l.in.qualify(f.file.Body)
		}
		content, more := f.file.Body.Content(fileSchema)
		l.add(explainBlocks(f.file.Body, more))
		for _, block := range content.Blocks {
			readBlock(l, block)
		}
	}
}

// recorded are the files of the folder of the pipeline at path, as a past run
// recorded them.
func recorded(path string, files map[string][]byte) (*local.Files, error) {
	answers, err := local.Decode(files[local.RecordName])
	return local.Recorded(folderOf(path), answers), err
}

func newPipeline(path string, opts Options) *Pipeline {
	p := &Pipeline{
		Path:      path,
		Files:     diag.Sources{},
		Settings:  map[string]hcl.Expression{},
		Variables: map[string]*Variable{},
		folders:   map[string]string{"path": "."},
		modules:   map[string]hcl.Range{},
		named:     map[string]map[string]*node{"local": {}, "model": {}, "agent": {}, "benchmark": {}, "output": {}},
		byAddr:    map[addr.Step]*Step{},
		budget:    &bounded.Budget{},
	}
	p.kinds, p.benchmark = opts.Kinds, opts.Benchmark
	p.local = local.Folder(folderOf(path), opts.Private, local.NewDigests(opts.Digests))
	p.local.Confine(opts.Within)
	p.local.Ship(opts.Shipped)
	return p
}

// link adds the arguments and steps that are not written, checks what refers to
// what, and puts everything in the order of dependency unless something is wrong.
// It returns all diagnostics.
func (l *loader) link() diag.List {
	l.applySettings()
	l.makeSteps()
	if !l.unread {
		l.checkReferences()
		l.checkMoves()
	}
	if !l.diags.HasErrors() {
		l.sortNodes()
	}
	return l.diags
}

// applySettings gives the settings of the mleflow block to the steps that do not
// write them.
func (l *loader) applySettings() {
	for _, s := range l.p.Steps {
		for i := range s.Kind.Args {
			a := &s.Kind.Args[i]
			if e := l.p.Settings[a.Name]; a.Setting && e != nil && s.Args[a.Name] == nil {
				s.Args[a.Name] = e
			}
		}
	}
}

// explainBlocks says of a block type that is unknown, and like none, which there
// are.
func explainBlocks(body hcl.Body, diags diag.List) diag.List {
	for _, b := range body.(*hclsyntax.Body).Blocks {
		if !slices.ContainsFunc(fileSchema.Blocks, func(s hcl.BlockHeaderSchema) bool {
			return s.Type == b.Type || diag.Nearest(b.Type, []string{s.Type}) != ""
		}) {
			addDetail(diags, b.TypeRange, " A pipeline is made of mleflow, variable, locals, model, agent, step, module, moved, benchmark, evaluate, output and notify blocks.")
		}
	}
	return diags
}

// addDetail adds a remedy to the diagnostic at a range.
func addDetail(diags diag.List, r hcl.Range, text string) {
	for _, d := range diags {
		if d.Subject != nil && *d.Subject == r {
			d.Detail += text
		}
	}
}

// loader fills a pipeline with the blocks of its files.
type loader struct {
	p     *Pipeline
	opts  Options
	diags diag.List
	files reader
	// in is the module whose files are read, or nil, and dir the folder of the file,
	// relative to the pipeline's.
	in  *module
	dir string
	// modules are those so far by name, and moduleBytes the size of their files.
	modules     map[string]*module
	moduleBytes int
	// unread says that a module could not be read: references to it say nothing more.
	unread bool
}

// readBlock reads a block of a file by its type.
func readBlock(l *loader, b *hcl.Block) {
	read := map[string]func(*loader, *hcl.Block){
		"mleflow": (*loader).settings, "variable": (*loader).variable, "locals": (*loader).locals, "model": (*loader).model, "agent": (*loader).agent, "step": (*loader).step,
		"module": (*loader).module, "benchmark": (*loader).benchmark, "evaluate": (*loader).evaluate, "output": (*loader).output, "notify": (*loader).notify, "moved": (*loader).moved,
	}
	if l.in != nil && (b.Type == "benchmark" || b.Type == "evaluate" || b.Type == "notify") {
		l.fail(b.DefRange, notInModule, "A %s block belongs in the pipeline.", b.Type)
		return
	}
	read[b.Type](l, b)
}

func (l *loader) add(diags diag.List) { l.diags = append(l.diags, diags...) }

func (l *loader) fail(r hcl.Range, summary, detail string, args ...any) {
	l.diags = append(l.diags, diag.Error(r, summary, detail, args...))
}

// content decodes a block by a schema and reports whether it is valid.
func (l *loader) content(b *hcl.Block, schema *hcl.BodySchema) (*hcl.BodyContent, bool) {
	content, diags := b.Body.Content(schema)
	l.add(diags)
	return content, !diags.HasErrors()
}

// text returns a string that literalString read.
func (l *loader) text(text string, diags diag.List) string {
	l.add(diags)
	return text
}

// name returns the last label of a block, which must be an identifier.
func (l *loader) name(what string, b *hcl.Block) string {
	last := len(b.Labels) - 1
	if !hclsyntax.ValidIdentifier(b.Labels[last]) {
		l.fail(b.LabelRanges[last], "Invalid "+what+" name", "%q is not a valid name. A name starts with a letter and contains only letters, digits, underscores and hyphens.", b.Labels[last])
	}
	return b.Labels[last]
}

func (l *loader) duplicate(what, name string, here, there hcl.Range) {
	l.fail(here, "Duplicate "+what, "%s %q is already declared at %s. Rename one of them.", strings.ToUpper(what[:1])+what[1:], name, position(there))
}

func position(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// declare declares what is referred to by a root and a name, unless the name is taken.
// what says what it is, at the place of the name.
func (l *loader) declare(what string, at hcl.Range, n *node) bool {
	for root, all := range l.p.named { // the name of an agent or a model is in keys, wherever it is declared
		switch old := all[n.name]; {
		case old == nil || baseOf(root) != n.root || root != l.in.root(n.root) && n.block == nil:
			continue
		case root == l.in.root(n.root):
			l.duplicate(what, n.name, at, old.at)
		default:
			l.fail(at, "Duplicate "+what, "The pipeline has the %s %q already, at %s: its name is in results, so modules cannot have another. Declare it once, and pass it to modules as a variable.", what, n.name, position(old.at))
		}
		return false
	}
	n.root = l.in.root(n.root)
	l.enter(n)
	return true
}

func (l *loader) enter(n *node) {
	if l.p.named[n.root] == nil {
		l.p.named[n.root] = map[string]*node{}
	}
	l.p.named[n.root][n.name] = n
}

// nested reads nested blocks, each of which there can be once, by their types, or
// TYPE.LABEL with a label.
func (l *loader) nested(blocks hcl.Blocks, schema func(name string) *hcl.BodySchema, duplicate func(*hcl.Block) string) map[string]map[string]hcl.Expression {
	all := map[string]map[string]hcl.Expression{}
	for _, b := range blocks {
		inner, _ := l.content(b, schema(b.Type))
		name := strings.Join(append([]string{b.Type}, b.Labels...), ".")
		if all[name] != nil {
			l.fail(b.DefRange, "Duplicate block", "%s", duplicate(b))
			continue
		}
		all[name] = exprs(inner.Attributes)
	}
	return all
}

func (l *loader) locals(b *hcl.Block) {
	attrs, diags := b.Body.JustAttributes()
	l.add(diags)
	for _, a := range sortedAttrs(attrs) {
		l.declare("local value", a.NameRange, &node{
			root: "local", name: a.Name, at: a.Expr.Range(), exprs: []hcl.Expression{a.Expr},
			value: func(ev *evaluator) (cty.Value, diag.List) { return ev.alone(a.Expr) },
		})
	}
}

func (l *loader) agent(b *hcl.Block) {
	name := l.name("agent", b)
	content, wrong := b.Body.Content(l.agentSchema())
	l.explainAttempt(b, wrong)
	l.add(wrong)
	valid := !wrong.HasErrors()
	a := newBlock(name, b.DefRange, content.Attributes)
	a.dir = l.dir
	n := &node{root: "agent", name: name, at: a.Range, block: &a, value: func(ev *evaluator) (cty.Value, diag.List) { return ev.agentsValue(&a) }}
	if !l.declare("agent", b.LabelRanges[0], n) {
		return
	}
	if valid && (a.Args["command"] == nil) == (a.Args["acp"] == nil) {
		l.fail(b.DefRange, "Invalid agent", "The agent %q needs either command or acp: command is any program, and acp is one that speaks the Agent Client Protocol.", name)
	}
	for _, nested := range content.Blocks {
		l.kindBlock(name, a.Args, nested)
	}
	n.exprs, n.sweep = a.expressions(), sweep(&a)
}

// explainAttempt names the step whose argument was written in the block of its agent.
func (l *loader) explainAttempt(agent *hcl.Block, wrong hcl.Diagnostics) {
	for name, attr := range agent.Body.(*hclsyntax.Body).Attributes {
		for _, kind := range l.opts.Kinds.List() {
			runs := step.AttrOf(kind.Args, "agent")
			if runs != nil && runs.Type.Equals(step.AgentType) && step.AttrOf(kind.Args, name) != nil {
				addDetail(wrong, attr.NameRange, fmt.Sprintf(" It is an argument of step %q.", kind.Name))
			}
		}
	}
}

func (l *loader) output(b *hcl.Block) {
	name := l.name("output", b)
	content, _ := l.content(b, schemas[b.Type])
	n := &node{root: "output", name: name, at: b.DefRange}
	if !l.declare("output", b.LabelRanges[0], n) {
		return
	}
	if a := content.Attributes["value"]; l.in != nil && a != nil {
		n.exprs, n.value = []hcl.Expression{a.Expr}, func(ev *evaluator) (cty.Value, diag.List) { return ev.alone(a.Expr) }
		if len(content.Blocks) > 0 {
			l.fail(content.Blocks[0].DefRange, notInModule, "A publish block of an output belongs in the pipeline.")
		}
		return
	}
	o := &Output{Name: name, Range: b.DefRange}
	schema := func(name string) *hcl.BodySchema { return blockIn(argDocs("output"), name) }
	o.Publish = l.nested(content.Blocks, schema, func(nested *hcl.Block) string {
		return fmt.Sprintf("An output can have only one %q block.", nested.Type)
	})["publish"]
	o.Description = l.text(literalString(content.Attributes["description"]))
	if a := content.Attributes["value"]; a != nil {
		o.Value = a.Expr
		l.p.Outputs = append(l.p.Outputs, o)
	}
}

func literalString(a *hcl.Attribute) (string, diag.List) {
	if a == nil {
		return "", nil
	}
	v, diags := bounded.Literal(a.Expr)
	if diags.HasErrors() {
		return "", diags
	}
	if v.IsNull() || v.Type() != cty.String {
		return "", diag.List{diag.Error(a.Expr.Range(), "String expected", "%s must be a string in quotes.", a.Name)}
	}
	return v.AsString(), nil
}

func exprs(attrs hcl.Attributes) map[string]hcl.Expression {
	m := make(map[string]hcl.Expression, len(attrs))
	for name, a := range attrs {
		m[name] = a.Expr
	}
	return m
}
