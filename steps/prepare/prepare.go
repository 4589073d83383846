package prepare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/footprint"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// Deps are the parts of the program that the kind needs.
type Deps struct {
	Catalog *competitions.Catalog
	// Programs runs preparations that are Python, and Packages provides what they need.
	Programs executor.Executor
	Packages func(*step.Env) program.Packages
}

// Kind returns the step kind "prepare".
func Kind(deps Deps) step.Kind {
	return step.Kind{
		Name:    "prepare",
		Version: "2",
		Doc:     "Turns raw data into public files, which agents see, and private ones, which hold the answers, by the competition's prepare block.",
		Args:    step.Attrs(arguments{Version: "v1"}, nil),
		Outputs: []step.Output{
			{Name: "private", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The private files, including the answers, a tree."},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files, a tree."},
		},
		New: func(args step.Args) (step.Step, error) { return newPreparation(args, deps) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string            `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string            `cty:"version" doc:"Version of the competition: v1 as published, one with errata fixed, or the masked version of one, such as v1m: other ids in another order."`
	Raw         *step.Artifact    `cty:"raw" is:"required" doc:"The raw data, a tree."`
	Salt        *step.Artifact    `cty:"salt" doc:"A masked version's salt, such as file(\"mask.salt\"): 16 or more secret bytes. Plans, lock files and records show only its digest."`
	Params      map[string]string `cty:"params" doc:"Values for parameters of the competition, such as sizes fixed for the full data."`
}

type preparation struct {
	def    *competitions.Definition
	raw    *step.Artifact
	salt   *step.Artifact // of a masked version
	params map[string]cty.Value
	// definition is the digest of the parts of the definition that affect the result.
	definition digest.ContentID
	deps       Deps
}

func newPreparation(args step.Args, deps Deps) (step.Step, error) {
	var a arguments
	if err := args.Decode(&a); err != nil {
		return nil, err
	}
	p := &preparation{raw: a.Raw, salt: a.Salt, params: competitions.TextParams(a.Params), deps: deps}
	var err error
	if p.def, err = conditions.Definition(deps.Catalog, a.Competition, a.Version, args.Conditions); err != nil {
		return nil, err
	}
	switch {
	case p.def.Masked() && p.salt == nil:
		return nil, step.WrongArg("salt", fmt.Errorf("version %s needs one: write it with mleflow mask salt mask.salt, and here salt = file(\"mask.salt\")", a.Version))
	case !p.def.Masked() && p.salt != nil:
		return nil, step.WrongArg("salt", fmt.Errorf("version %s is not a masked one; write version = %q, or leave the salt out", a.Version, a.Version+"m"))
	}
	sum, diags := p.def.PrepareDigest(p.params)
	if diags.HasErrors() {
		return nil, step.WrongArg("params", diags)
	}
	p.definition = sum
	if p.def.PreparedByPython() {
		return p, step.WrongArg("competition", program.PackagesOf(p.def.Python).CheckLocked(p.def))
	}
	return p, nil
}

// Authored implements step.Authored.
func (p *preparation) Authored() []string { return p.def.Own("definition") }

// Fingerprint implements step.Fingerprinter.
func (p *preparation) Fingerprint(h *digest.Hasher) error {
	h.Content("definition", p.definition)
	h.String("preparer version", prep.Version)
	if p.def.PreparedByPython() {
		h.Content("python runner", program.Digest())
	}
	if p.def.Masked() {
		h.String("masker version", mask.Version)
	}
	return nil
}

// Estimate implements step.Estimator.
func (p *preparation) Estimate() step.Estimate {
	raw, basis := int64(0), "the raw data's size"
	switch {
	case p.raw != nil && !p.raw.Ref.IsZero():
		raw = p.raw.Ref.Size
	case p.raw != nil && p.raw.Expected > 0:
		raw, basis = p.raw.Expected, "the raw data's expected size"
	default:
		var factor float64
		raw, factor = footprint.Unpacked(p.def, footprint.Files(p.def))
		basis = footprint.Basis(factor)
	}
	added, factor := footprint.Prepared(p.def, raw)
	if factor != 1 {
		basis += fmt.Sprintf(" × %g", factor)
	}
	return step.Estimate{CacheBytes: added, Known: raw > 0, Basis: basis}
}

// Run implements step.Step.
func (p *preparation) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if out, ok, err := p.adopt(ctx, env); ok || err != nil {
		return out, err
	}
	p.tellSizes(env)
	o := prep.Options{Params: p.params}
	if p.def.PreparedByPython() {
		o.Python.Machine = program.Machine{Executor: p.deps.Programs, Packages: p.deps.Packages(env)}
	}
	out, err := Into(ctx, env, p.def, p.raw.Ref, o)
	if err == nil && p.def.Masked() {
		out, err = p.masked(ctx, env, out)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", p.def.ID, explain(ctx, err))
	}
	return out, nil
}

// Into prepares raw data in the store into public and private files there.
func Into(ctx context.Context, env *step.Env, def *competitions.Definition, raw cache.Ref, o prep.Options) (cache.Outputs, error) {
	sink := newSink(ctx, env.Store)
	o.Raw, o.Out, o.Work = tree.NewFS(ctx, env.Store, raw), sink, env.WorkDir
	o.Progress = func(p progress.State) { env.Progress(step.ProgressOf(p)) }
	o.Python.Log = func(line []byte) { _, _ = env.Log.Write(line) }
	o.Python.Raw = func(ctx context.Context) (string, func() error, error) {
		dir := filepath.Join(env.WorkDir, "raw")
		_, err := tree.Materialise(ctx, env.Store, raw, dir, tree.Options{})
		return dir, func() error { return tree.Remove(dir) }, err
	}
	if err := prep.Run(ctx, def, o); err != nil {
		return nil, err
	}
	return sink.outputs(ctx, env.Store)
}

// tellSizes logs the parameters that have other values in a rehearsal.
func (p *preparation) tellSizes(env *step.Env) {
	for _, param := range p.def.Params {
		if _, given := p.params[param.Name]; p.def.Rehearsal && !given && param.Rehearsal != cty.NilVal {
			if text, err := convert.Convert(param.Rehearsal, cty.String); err == nil {
				env.Note("rehearsal: parameter %s is %s", param.Name, text.AsString())
			}
		}
	}
}

// mostSalt is the maximum size of a salt file in bytes.
const mostSalt = 4096

// masked returns the masked version of prepared files.
func (p *preparation) masked(ctx context.Context, env *step.Env, prepared cache.Outputs) (cache.Outputs, error) {
	if p.salt.Ref.Kind != cache.Blob {
		return nil, fmt.Errorf("salt: %s is a folder; name a file", p.salt.Name())
	}
	data, err := cache.Get(ctx, env.Store, p.salt.Ref.ID, mostSalt)
	if err != nil {
		return nil, fmt.Errorf("salt: %w", err)
	}
	salt, err := mask.ParseSalt(data)
	if err != nil {
		return nil, err
	}
	work := &progress.Work{}
	defer env.Follow(work)()
	return Sunk(ctx, env.Store, func(o mask.Options) error {
		o.Public, o.Private = tree.NewFS(ctx, env.Store, prepared["public"].Ref), tree.NewFS(ctx, env.Store, prepared["private"].Ref)
		o.Salt, o.Work, o.Progress = salt, env.WorkDir, work
		return mask.Run(ctx, p.def, o)
	})
}

// Sunk returns the public and private files that a function writes to Options.Out.
func Sunk(ctx context.Context, store cache.Building, write func(mask.Options) error) (cache.Outputs, error) {
	sink := newSink(ctx, store)
	if err := write(mask.Options{Out: sink}); err != nil {
		return nil, err
	}
	return sink.outputs(ctx, store)
}

// explain returns the interruption, if there was one, because the errors that it causes
// are meaningless.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}

// descriptionFile is the file that the reference adds to the public files after
// preparation. No preparation creates it.
const descriptionFile = "description.md"

// adopt accepts data that the reference has prepared, instead of raw data: a
// tree with the one entry "prepared", which contains "public" and "private".
// They are used unchanged; the checksum step compares them with the pins.
func (p *preparation) adopt(ctx context.Context, env *step.Env) (cache.Outputs, bool, error) {
	halves, err := preparedHalves(ctx, env.Store, p.raw.Ref)
	if err != nil || halves == nil {
		return nil, false, err
	}
	if len(p.params) > 0 {
		return nil, true, fmt.Errorf("prepare %s: the data was prepared elsewhere, so params cannot be applied; use the raw data instead", p.def.ID)
	}
	if p.def.Version != "v1" {
		return nil, true, fmt.Errorf("prepare %s: the data was prepared elsewhere as version v1, not %s; use the raw data instead", p.def.ID, p.def.Version)
	}
	public := halves["public"]
	if !p.declares("public/" + descriptionFile) {
		if public, err = without(ctx, env.Store, public, descriptionFile); err != nil {
			return nil, true, fmt.Errorf("prepare %s: %w", p.def.ID, err)
		}
	}
	pins := len(p.def.Checksums.Pinned())
	files := public.Files + halves["private"].Files
	env.Warn(fmt.Sprintf("adopted as prepared elsewhere: %d of %d files have a pin; the others cannot be checked", pins, max(files, int64(pins))))
	return cache.Outputs{"public": {Ref: public}, "private": {Ref: halves["private"]}}, true, nil
}

// preparedHalves returns the two trees of prepared data, or nil for any other data.
func preparedHalves(ctx context.Context, store cache.Store, raw cache.Ref) (map[string]cache.Ref, error) {
	top, err := few(ctx, store, raw, 1)
	if err != nil || len(top) != 1 || top[0].Name != source.PreparedFolder || !top[0].IsDir() {
		return nil, err
	}
	entries, err := few(ctx, store, top[0].Ref(), 2)
	if err != nil || len(entries) != 2 {
		return nil, err
	}
	private, public := entries[0], entries[1]
	if private.Name != "private" || public.Name != "public" || !private.IsDir() || !public.IsDir() {
		return nil, nil
	}
	return map[string]cache.Ref{"private": private.Ref(), "public": public.Ref()}, nil
}

// few reads a directory with at most the given number of entries. From a larger one, it
// reads one entry more than that.
func few(ctx context.Context, store cache.Store, ref cache.Ref, most int) (list []tree.Entry, err error) {
	err = tree.Each(ctx, store, ref, func(e tree.Entry) error {
		if list = append(list, e); len(list) > most {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return nil, fmt.Errorf("read raw data: %w", err)
	}
	return list, nil
}

// without returns a tree without the entry of the given name.
func without(ctx context.Context, store cache.Store, ref cache.Ref, name string) (cache.Ref, error) {
	entries, err := tree.Read(ctx, store, ref)
	if err != nil {
		return ref, err
	}
	return tree.Put(ctx, store, slices.DeleteFunc(entries, func(e tree.Entry) bool { return e.Name == name }))
}

func (p *preparation) declares(path string) bool {
	outputs, diags := prep.Outputs(p.def)
	return !diags.HasErrors() && slices.ContainsFunc(outputs, func(o prep.Output) bool { return o.Path == path })
}

// sink streams the outputs of a preparation into the store.
type sink struct {
	ctx   context.Context // of one run
	store cache.Building

	mu    sync.Mutex
	sides map[string]*tree.Builder // "public" and "private"
}

func newSink(ctx context.Context, store cache.Building) *sink {
	return &sink{ctx: ctx, store: store, sides: map[string]*tree.Builder{"public": tree.NewBuilder(store), "private": tree.NewBuilder(store)}}
}

var _ prep.Sink = (*sink)(nil)

// in calls a function with the builder of a path's side and the path below it.
func (s *sink) in(path string, do func(b *tree.Builder, below string) error) error {
	side, below, ok := strings.Cut(path, "/")
	b := s.sides[side]
	if !ok || b == nil {
		return fmt.Errorf("output %q is neither public nor private", path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(b, below)
}

// outputs returns both halves.
func (s *sink) outputs(ctx context.Context, store cache.Store) (cache.Outputs, error) {
	out := cache.Outputs{}
	for name, b := range s.sides {
		ref, err := b.Build(ctx, store)
		if err != nil {
			return nil, fmt.Errorf("%s files: %w", name, err)
		}
		out[name] = cache.Value{Ref: ref}
	}
	return out, nil
}

func (s *sink) add(path string, ref cache.Ref) error {
	return s.in(path, func(b *tree.Builder, below string) error { return b.Add(below, ref, false) })
}

// Folder implements prep.Sink. Both sides always exist.
func (s *sink) Folder(_ context.Context, path string) error {
	if s.sides[path] != nil {
		return nil
	}
	return s.in(path, (*tree.Builder).AddDir)
}

// Create implements prep.Sink.
func (s *sink) Create(ctx context.Context, path string) (prep.File, error) {
	in, err := s.store.Ingest(ctx, "")
	if err != nil {
		return nil, err
	}
	return &file{Ingest: in, sink: s, path: path}, nil
}

// Copy implements prep.Sink. A file of the raw tree is already in the store.
func (s *sink) Copy(ctx context.Context, path string, from prep.Source) error {
	info, err := fs.Stat(from.FS, from.Name)
	if err != nil {
		return err
	}
	from.CountCopied(info.Size())
	if e, ok := info.Sys().(tree.Entry); ok && !e.IsDir() {
		return s.add(path, e.Ref())
	}
	in, err := from.FS.Open(from.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	ref, err := cache.Put(ctx, s.store, in, cache.Ref{})
	if err != nil {
		return err
	}
	return s.add(path, ref)
}

// file is an output that becomes part of the tree when it is committed.
type file struct {
	cache.Ingest
	sink *sink
	path string
}

// Commit implements prep.File.
func (f *file) Commit() error {
	ref, err := f.Ingest.Commit(f.sink.ctx, cache.Ref{})
	if err != nil {
		return err
	}
	return f.sink.add(f.path, ref)
}
