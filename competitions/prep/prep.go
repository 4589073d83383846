package prep

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/transform"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// Version changes whenever the same definition and raw data may give other
// bytes than before; the engine's keys hold it.
const Version = "2"

// Options give the source and the destination of a preparation.
type Options struct {
	// Raw is the unpacked download.
	Raw fs.FS
	// Out gets the outputs.
	Out Sink
	// Params overrides parameters of the definition.
	Params map[string]cty.Value
	// Work is a folder for unpacked archives; empty means a new folder of the
	// system's temporary one. Run removes the files that it puts there.
	Work string
	// Parallelism is the number of outputs written at once, and of files that each of
	// them copies at once; 0 means the number of processors.
	Parallelism int
	// Unpacked says that an archive to extract that is not there has been unpacked already,
	// as in the public files of a preparation.
	Unpacked bool
	// Progress, where set, is told now and then how far it is, one call at a time:
	// "unpacking" archives, "reading" raw files, "writing" outputs. Totals are of
	// what is known to come.
	Progress func(progress.State)
	// Python is for definitions that are prepared by their own Python.
	Python Python
}

// Run prepares a competition. Mistakes of the definition and of the data are
// diagnostics (hcl.Diagnostics as error); the sink then holds a part of the
// outputs and must be discarded.
func Run(ctx context.Context, def *competitions.Definition, o Options) (err error) {
	if def.PreparedByPython() {
		return o.python(ctx, def)
	}
	block, diags := decode(def, o.Params)
	if diags.HasErrors() {
		return diags
	}
	if o.Parallelism <= 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	work, err := os.MkdirTemp(o.Work, "prepare-")
	if err != nil {
		return fmt.Errorf("prepare %s: %w", def.ID, err)
	}
	defer os.RemoveAll(work)
	counts := newCounts(block.outputs)
	stop := counts.sample(o.Progress)
	defer func() { stop(err == nil) }()
	raw := archive.NewOverlay(o.Raw)
	raw.Unpacking = &counts.unpacking
	defer raw.Close()
	if diags := block.mount(ctx, raw, work, o.Unpacked); diags.HasErrors() {
		return diags
	}
	input := &transform.Input{Context: ctx, Raw: countedFS{raw, counts}}
	defer func() {
		if unread := input.Close(); unread != nil {
			err = fmt.Errorf("prepare %s: %w", def.ID, unread)
		}
	}()
	block.evaluator.input = input
	r := &runner{evaluator: block.evaluator, raw: raw, sink: o.Out, counts: counts, work: work, copiers: o.Parallelism}
	return r.run(ctx, block.outputs, o.Parallelism)
}

// run writes all outputs. The first failure stops the others; of failures
// that happened at once, the one declared first is reported.
func (r *runner) run(ctx context.Context, outputs []*item, parallelism int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	r.ctx = ctx
	found := make([]hcl.Diagnostics, len(outputs))
	for i, it := range outputs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			found[i] = it.kind.write(r, it)
			if found[i].HasErrors() {
				return found[i]
			}
			return nil
		})
	}
	err := group.Wait()
	if err == nil {
		return nil
	}
	for _, diags := range found {
		if diags.HasErrors() && !isCancelled(diags) {
			return diags
		}
	}
	return err
}

func isCancelled(diags hcl.Diagnostics) bool {
	return !slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return !diag.Is(d, context.Canceled) })
}

// block is a decoded prepare block.
type block struct {
	evaluator *evaluator
	outputs   []*item
	extract   *hclsyntax.Attribute
}

func decode(def *competitions.Definition, params map[string]cty.Value) (*block, hcl.Diagnostics) {
	ctx, diags := def.EvalContext(params)
	if diags.HasErrors() {
		return nil, diags
	}
	body, ok := def.Prepare.Body.(*hclsyntax.Body)
	if !ok {
		return nil, wrong(def.Prepare.Range, "No prepare block", "The competition needs a block prepare { … }.")
	}
	locals := &localSet{given: maps.Clone(ctx.Variables), own: map[string]*local{}}
	delete(locals.given, competitions.ParamRoot)
	out := &block{evaluator: &evaluator{
		locals: locals, params: ctx.Variables[competitions.ParamRoot].AsValueMap(), functions: ctx.Parent().Functions, verbs: verbsByName(),
	}}
	for _, name := range sortedKeys(body.Attributes) {
		if name != "extract" {
			diags = append(diags, diag.Error(body.Attributes[name].NameRange, "Unknown attribute "+name, "%s", diag.Suggest(name, []string{"extract"})))
		}
	}
	out.extract = body.Attributes["extract"]
	x := &expander{context: ctx, locals: locals}
	for _, b := range body.Blocks {
		if b.Type == "locals" {
			diags = append(diags, locals.declare(b.Body)...)
		}
	}
	for _, b := range body.Blocks {
		var more hcl.Diagnostics
		var items []*item
		switch b.Type {
		case "locals":
		case "public", "private":
			items, more = x.outputs(b.Body, b.Type+"/", nil)
			out.outputs = append(out.outputs, items...)
		default:
			more = wrong(b.TypeRange, "Unknown block "+b.Type, "%s", diag.Suggest(b.Type, []string{"locals", "public", "private"}))
		}
		diags = append(diags, more...)
	}
	return out, append(diags, locals.acyclic()...)
}

// Output is a declared output of a prepare block.
type Output struct {
	// Path is the destination below the prepared folder; it may hold column
	// names in braces.
	Path string
	// Kind is the block type.
	Kind  string
	Range hcl.Range
	// Value is the source text of the file's content: rows, lines or
	// value of a generated file, from of a copy.
	Value string
}

// Outputs lists the outputs that a definition's prepare block declares, in order. Members
// of archives are not listed on their own, and nothing of a preparation by Python.
func Outputs(def *competitions.Definition) ([]Output, hcl.Diagnostics) {
	if def.PreparedByPython() {
		return nil, nil
	}
	block, diags := decode(def, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	var out []Output
	for _, it := range block.outputs {
		o := Output{Path: it.dest, Kind: it.kind.name, Range: it.block.DefRange()}
		if slices.Contains(it.kind.attrs, "from") {
			o.Value = strconv.Quote(it.label)
		}
		for _, name := range []string{"rows", "lines", "value", "from"} {
			if attr := it.block.Body.Attributes[name]; attr != nil {
				o.Value = it.each.fill(string(attr.Expr.Range().SliceBytes(def.Source())), "each.key", "each.value")
			}
		}
		out = append(out, o)
	}
	return out, diags
}

// runner holds the state that the outputs of one run share.
type runner struct {
	ctx       context.Context
	evaluator *evaluator
	raw       fs.FS
	sink      Sink
	counts    *counts
	// work is a folder for temporary files.
	work string
	// copiers is the number of files that one output copies at once.
	copiers int
}

// create writes one output file.
func (r *runner) create(it *item, write func(io.Writer) error) hcl.Diagnostics {
	if err := r.createFile(it.dest, write); err != nil {
		return wrong(it.block.DefRange(), "Cannot write "+it.dest, "%v.", err)
	}
	return nil
}

func (r *runner) createFile(dest string, write func(io.Writer) error) (err error) {
	f, err := r.sink.Create(r.ctx, dest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := bufio.NewWriterSize(&contextWriter{r.ctx, f, &r.counts.bytes}, 1<<18)
	if err := write(buf); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	r.counts.files.Add(1)
	return nil
}

// contextWriter stops writing when the run is cancelled, and counts.
type contextWriter struct {
	ctx   context.Context
	w     io.Writer
	bytes *atomic.Int64
}

func (w *contextWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.w.Write(p)
	w.bytes.Add(int64(n))
	return n, err
}

// intoLines reads a column or a list as texts.
func intoLines(out *[]string) func(cty.Value) error {
	return func(v cty.Value) error {
		if rows, ok := asColumn(v); ok {
			*out = rows.Texts()
			return nil
		}
		return intoGo(v, out)
	}
}

func verbsByName() map[string]transform.Verb {
	out := map[string]transform.Verb{}
	for _, v := range transform.Verbs() {
		out[v.Name] = v
	}
	return out
}

// Sink is where outputs go. Paths are slash-separated and start with public/
// or private/. All methods may be called from several goroutines at once. A
// path is written once; writing it again is an error.
type Sink interface {
	// Create starts a file.
	Create(ctx context.Context, path string) (File, error)
	// Copy puts a file with the bytes of a raw one; a store that holds those
	// bytes already need not read them.
	Copy(ctx context.Context, path string, from Source) error
	// Folder makes sure that a folder exists, even if it stays empty.
	Folder(ctx context.Context, path string) error
}

// File is an output file being written.
type File interface {
	io.Writer
	// Commit makes the file part of the output.
	Commit() error
	// Close frees the file's resources. Without Commit the file is dropped.
	Close() error
}

// Source is a raw file.
type Source struct {
	FS   fs.FS
	Name string
	// Copied, if set, counts the bytes that are copied.
	Copied *atomic.Int64
}

// CountCopied counts bytes that were copied.
func (s Source) CountCopied(n int64) {
	if s.Copied != nil {
		s.Copied.Add(n)
	}
}

// mount lays the archives that the block extracts over the raw folder.
//
//	extract = ["train.zip", "images.zip"]         each into the raw folder
//	extract = { "train.zip" = "train" }           into a folder of its own
//
// With unpacked, an archive that is not there is left out.
func (b *block) mount(ctx context.Context, raw *archive.Overlay, work string, unpacked bool) hcl.Diagnostics {
	if b.extract == nil {
		return nil
	}
	names, diags := b.archives()
	if diags.HasErrors() {
		return diags
	}
	for _, a := range names {
		if _, err := raw.Stat(a.name); unpacked && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := raw.Mount(ctx, a.name, a.value.AsString(), work); err != nil {
			return wrong(b.extract.Expr.Range(), "Cannot unpack "+a.name, "%v.", err)
		}
	}
	return nil
}

// archives returns the archives to extract with the folder of each.
func (b *block) archives() ([]pair, hcl.Diagnostics) {
	v, diags := b.evaluator.value(b.extract.Expr, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	if !v.Type().IsObjectType() {
		var names []string
		if err := intoGo(v, &names); err != nil {
			diags = wrong(b.extract.Expr.Range(), "Wrong value for extract", "Expected a list of archives, or an object { \"archive\" = \"folder\" }.")
		}
		return lists.Of(names, func(name string) pair { return pair{name: name, value: cty.StringVal(".")} }), diags
	}
	pairs, diags := b.evaluator.pairs(b.extract.Expr, nil)
	for _, p := range pairs {
		if p.value.Type() != cty.String || p.value.IsNull() {
			diags = wrong(p.at, "Wrong value for extract", "The folder of an archive must be a string.")
		}
	}
	return pairs, diags
}
