package config

import (
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
	files, diags := reader{from: p.local, budget: p.budget}.texts(path, src)
	for _, f := range files {
		p.Files[f.path] = f.file
	}
	if diags.HasErrors() {
		return p, diags
	}
	l := loader{p: p, opts: opts, diags: diags}
	for _, f := range files {
		content, more := f.file.Body.Content(fileSchema)
		l.add(explainBlocks(f.file.Body, more))
		for _, block := range content.Blocks {
			blockReaders[block.Type](&l, block)
		}
	}
	return p, l.link()
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
		named:     map[string]map[string]*node{"local": {}, "model": {}, "agent": {}, "output": {}},
		byAddr:    map[addr.Step]*Step{},
		budget:    &bounded.Budget{},
	}
	p.kinds = opts.Kinds
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
	l.checkReferences()
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
			addDetail(diags, b.TypeRange, " A pipeline is made of mleflow, variable, locals, model, agent, step, evaluate, output and notify blocks.")
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
}

// blockReaders read the blocks of a file, by their type.
var blockReaders = map[string]func(*loader, *hcl.Block){
	"mleflow": (*loader).settings, "variable": (*loader).variable, "locals": (*loader).locals, "model": (*loader).model,
	"agent": (*loader).agent, "step": (*loader).step, "evaluate": (*loader).evaluate, "output": (*loader).output, "notify": (*loader).notify,
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
	if old := l.p.named[n.root][n.name]; old != nil {
		l.duplicate(what, n.name, at, old.at)
		return false
	}
	l.p.named[n.root][n.name] = n
	return true
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
	if !l.declare("output", b.LabelRanges[0], &node{root: "output", name: name, at: b.DefRange}) {
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
