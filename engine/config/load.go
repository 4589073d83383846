package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
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
	p.funcs = p.budget.Functions(functions(opts.Functions))
	maps.Copy(p.funcs, localFunctions(p.local, p.funcs, p.budget))
	files, diags := reader{from: p.local, budget: p.budget}.texts(path, src)
	for _, f := range files {
		p.Files[f.path] = f.file
	}
	if diags.HasErrors() {
		return p, diags
	}
	l := loader{p: p, opts: opts, outputs: map[string]*Output{}}
	for _, f := range files {
		content, more := f.file.Body.Content(fileSchema)
		diags = append(diags, explainBlocks(f.file.Body, more)...)
		for _, block := range content.Blocks {
			diags = append(diags, l.block(block)...)
		}
	}
	return p, l.link(diags)
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
		Variables: map[string]*Variable{}, Locals: map[string]*Local{}, Models: map[string]*Model{}, Agents: map[string]*Agent{},
		byAddr: map[addr.Step]*Step{},
		budget: &bounded.Budget{},
	}
	p.kinds = opts.Kinds
	p.local = local.Folder(folderOf(path), opts.Private, local.NewDigests(opts.Digests))
	p.local.Ship(opts.Shipped)
	return p
}

// link adds the arguments and steps that are not written, checks what refers to
// what, and puts everything in the order of dependency unless something is wrong.
func (l *loader) link(diags diag.List) diag.List {
	l.applySettings()
	diags = append(diags, l.makeSteps()...)
	diags = append(diags, l.checkReferences()...)
	if !diags.HasErrors() {
		diags = append(diags, l.sortNodes()...)
	}
	return diags
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
			addDetail(diags, b.TypeRange, " A pipeline is made of mleflow, variable, locals, model, agent, step, evaluate and output blocks.")
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

type loader struct {
	p       *Pipeline
	opts    Options
	outputs map[string]*Output
}

func (l *loader) block(b *hcl.Block) diag.List {
	switch b.Type {
	case "mleflow":
		return l.settings(b)
	case "variable":
		return l.variable(b)
	case "locals":
		return l.locals(b)
	case "model":
		return l.model(b)
	case "agent":
		return l.agent(b)
	case "step":
		return l.step(b)
	case "evaluate":
		return l.evaluate(b)
	default:
		return l.output(b)
	}
}

func duplicate(what, name string, here, there hcl.Range) *hcl.Diagnostic {
	return diag.Error(here, "Duplicate "+what, "%s %q is already declared at %s. Rename one of them.", capital(what), name, position(there))
}

func position(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }

func checkName(what, name string, r hcl.Range) diag.List {
	if hclsyntax.ValidIdentifier(name) {
		return nil
	}
	return diag.List{diag.Error(r, "Invalid "+what+" name", "%q is not a valid name. A name starts with a letter and contains only letters, digits, underscores and hyphens.", name)}
}

func (l *loader) locals(b *hcl.Block) diag.List {
	attrs, diags := b.Body.JustAttributes()
	for _, a := range sortedAttrs(attrs) {
		if old := l.p.Locals[a.Name]; old != nil {
			diags = append(diags, duplicate("local value", a.Name, a.NameRange, old.Expr.Range()))
			continue
		}
		l.p.Locals[a.Name] = &Local{Name: a.Name, Expr: a.Expr}
	}
	return diags
}

func (l *loader) agent(b *hcl.Block) diag.List {
	name := b.Labels[0]
	diags := checkName("agent", name, b.LabelRanges[0])
	content, more := b.Body.Content(l.agentSchema())
	diags = append(diags, more...)
	if old := l.p.Agents[name]; old != nil {
		return append(diags, duplicate("agent", name, b.LabelRanges[0], old.Range))
	}
	a := &Agent{Name: name, Attrs: exprs(content.Attributes), Range: b.DefRange}
	l.p.Agents[name] = a
	if !more.HasErrors() && (a.Attrs["command"] == nil) == (a.Attrs["acp"] == nil) {
		diags = append(diags, diag.Error(b.DefRange, "Invalid agent", "The agent %q needs either command or acp: command is any program, and acp is one that speaks the Agent Client Protocol.", name))
	}
	for _, nested := range content.Blocks {
		diags = append(diags, l.kindBlock(name, a.Attrs, nested)...)
	}
	return diags
}

func (l *loader) output(b *hcl.Block) diag.List {
	name := b.Labels[0]
	diags := checkName("output", name, b.LabelRanges[0])
	content, more := b.Body.Content(schemas[b.Type])
	diags = append(diags, more...)
	if old := l.outputs[name]; old != nil {
		return append(diags, duplicate("output", name, b.LabelRanges[0], old.Range))
	}
	o := &Output{Name: name, Range: b.DefRange}
	if a := content.Attributes["value"]; a != nil {
		o.Value = a.Expr
	}
	for i, nested := range content.Blocks {
		if i > 0 {
			diags = append(diags, diag.Error(nested.DefRange, "Duplicate block", "An output can have only one %q block.", nested.Type))
		}
		inner, more := nested.Body.Content(blockIn(argDocs(b.Type), nested.Type))
		diags = append(diags, more...)
		o.Publish = exprs(inner.Attributes)
	}
	text, more := literalString(content.Attributes["description"])
	o.Description = text
	diags = append(diags, more...)
	l.outputs[name] = o
	if o.Value != nil {
		l.p.Outputs = append(l.p.Outputs, o)
	}
	return diags
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
