package download

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// Definitions returns the definition of a competition; a *competitions.Catalog
// implements it.
type Definitions interface {
	Get(id string) (*competitions.Definition, error)
}

// Deps are what the kind needs.
type Deps struct {
	Catalog Definitions
	Sources *source.Registry
	// Adopt, if set, is a data directory of the reference. A competition with a folder
	// there is taken from it, unless the step names a source other than Kaggle. Adopt
	// is not in the key; the key depends on the data that are taken.
	Adopt string
}

// real is the value of the argument data for data of the competition's source.
const real = "real"

// Kind returns the step kind "download".
func Kind(deps Deps) step.Kind {
	return step.Kind{
		Name:    "download",
		Version: "2",
		Doc:     "Fetches a competition's raw data, checks them against pins and unpacks them, with the archives that the competition extracts. They contain the answers: no agent sees them.",
		Args:    step.Attrs(arguments{Data: real}, step.OneOf{"data": {real, conditions.Rehearsal}}),
		Blocks:  step.Blocks(arguments{}, step.OneOf{"kind": deps.Sources.Names()}),
		Outputs: []step.Output{
			{Name: "files", Type: step.TypeOf[[]file](), Secrecy: step.Public, Doc: "The fetched files with digests and sizes."},
			{Name: "tree", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The unpacked raw data, a tree."},
		},
		New: func(args step.Args) (step.Step, error) { return newDownload(args, deps) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition  string    `cty:"competition" is:"required" doc:"Identifier of the competition."`
	From         *string   `cty:"from" is:"cosmetic" doc:"Reads the data from this path: the unpacked download, an archive (its suffix may be left out), or the competition's folder in a data directory of the reference. Null is the competition's source. A file fetched separately comes from its own source unless it is there."`
	Data         string    `cty:"data" is:"cosmetic" doc:"The real data, or the synthetic ones of a rehearsal, which ship with the definition and need no network. They are a condition of all results."`
	KeepArchives *bool     `cty:"keep_archives" is:"cosmetic" doc:"Keeps the raw data's archives as files instead of unpacking them. Their names are in the key."`
	Source       *override `cty:"source" block:"Where to get the data instead."`
}

type override struct {
	Kind   string  `cty:"kind" is:"required cosmetic" doc:"The kind of source with the data."`
	Path   *string `cty:"path" is:"cosmetic" doc:"A file or folder (kind file), or a competition's folder in a data directory of the reference (kind reference); relative to the working directory."`
	URL    *string `cty:"url" is:"cosmetic" doc:"An address (kind http), or a mirror's base: a folder, https://… or s3://…. In the key only without a pin."`
	Slug   *string `cty:"slug" is:"cosmetic" doc:"The competition's name (kinds kaggle and mirror). In the key only without a pin."`
	MD5    *string `cty:"md5" doc:"The file's MD5, hexadecimal."`
	SHA256 *string `cty:"sha256" doc:"The file's SHA-256, hexadecimal."`
	As     *string `cty:"as" doc:"Keeps the file under this name, packed."`
}

// item is one thing to fetch.
type item struct {
	source source.Source
	spec   source.Spec
	as     string
	// kind is the source's name.
	kind string
}

// file describes a fetched file in the output "files".
type file struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	MD5    string `json:"md5"`
	Bytes  int64  `json:"bytes"`
}

type download struct {
	competition string
	def         *competitions.Definition
	items       []item
	// unpacked are the archives among the raw data that become folders.
	unpacked []string
	// rehearsal means that the data are those of a rehearsal.
	rehearsal bool
}

func newDownload(args step.Args, deps Deps) (step.Step, error) {
	var a arguments
	if err := args.Decode(&a); err != nil {
		return nil, err
	}
	def, err := deps.Catalog.Get(a.Competition)
	if err != nil {
		return nil, step.WrongArg("competition", err)
	}
	d := &download{competition: a.Competition, def: def}
	if a.KeepArchives == nil || !*a.KeepArchives {
		d.unpacked = def.Unpacked()
	}
	if d.rehearsal = a.Data == conditions.Rehearsal; d.rehearsal {
		switch {
		case def.Rehearsable() == nil:
			return d, d.add(deps, "file", source.Spec{Path: competitions.RehearsalName, Base: def.Folder()}, "")
		case def.HasData():
			return d, d.declared(deps, def.Sources)
		}
		return d, nil // Run says what is missing, so that other competitions go on
	}
	switch {
	case a.From != nil && a.Source != nil:
		return nil, step.WrongArg("source", errors.New("give from or a source block, not both"))
	case a.From != nil:
		if source.IsReference(*a.From) {
			return d, step.WrongArg("from", d.instead(deps, "reference", adopted(def, *a.From), ""))
		}
		return d, step.WrongArg("from", d.instead(deps, "file", source.Spec{Path: found(*a.From)}, ""))
	case a.Source != nil && a.Source.adoptable(deps.Adopt, a.Competition):
		spec := a.Source.spec()
		return d, d.instead(deps, "reference", source.Spec{Path: filepath.Join(deps.Adopt, a.Competition), MD5: spec.MD5, SHA256: spec.SHA256}, "")
	case a.Source != nil:
		return d, step.WrongArg("source", d.instead(deps, a.Source.Kind, a.Source.spec(), step.Text(a.Source.As)))
	}
	if folder := filepath.Join(deps.Adopt, a.Competition); deps.Adopt != "" && source.IsAdoptable(folder) {
		return d, d.instead(deps, "reference", adopted(def, folder), "")
	}
	if len(def.Sources) == 0 {
		return nil, fmt.Errorf("competition %q declares no source for its data; add from or a source block to the step", a.Competition)
	}
	return d, d.declared(deps, def.Sources)
}

// declared adds the sources of the definition.
func (d *download) declared(deps Deps, sources []competitions.Source) error {
	for _, s := range sources {
		spec := source.Spec{Path: s.Path, Base: d.def.Folder(), URL: s.URL, Slug: s.Slug, MD5: s.MD5, SHA256: s.SHA256}
		if err := d.add(deps, s.Kind, spec, s.As); err != nil {
			return fmt.Errorf("competition %q: %w", d.competition, err)
		}
	}
	return nil
}

// instead adds the source that replaces the definition's download. It also adds the
// definition's additional files, unless they are already included.
func (d *download) instead(deps Deps, kind string, spec source.Spec, as string) error {
	if err := d.add(deps, kind, spec, as); err != nil {
		return err
	}
	at := spec.Path
	if kind == "reference" {
		if at = (source.Reference{}).Taken(spec); filepath.Base(at) == source.PreparedFolder {
			return nil
		}
	}
	return d.declared(deps, slices.DeleteFunc(d.def.Beside(), func(s competitions.Source) bool {
		return s.As == as || holds(at, s.As)
	}))
}

// holds reports whether a folder or a zip file contains a file of that name.
func holds(at, name string) bool {
	if at == "" {
		return false
	}
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		_, err := os.Stat(filepath.Join(at, filepath.FromSlash(name)))
		return err == nil
	}
	f, err := checkout.Open(at) // a pipe would wait
	if err != nil {
		return false
	}
	f.Close()
	z, err := zip.OpenReader(at)
	if err != nil {
		return false
	}
	defer z.Close()
	return slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == name })
}

// adopted returns the spec of a competition's folder in a data directory of the
// reference, if its archive is the pinned one.
func adopted(def *competitions.Definition, folder string) source.Spec {
	spec := source.Spec{Path: folder}
	if main, ok := def.Download(); ok {
		spec.MD5, spec.SHA256 = main.MD5, main.SHA256
	}
	return spec
}

// suffixes are the suffixes that are tried for archives named by "from".
var suffixes = []string{".zip", ".tar", ".tar.gz", ".tar.zst", ".7z"}

// found returns the existing file for a path that may omit an archive's suffix.
func found(path string) string {
	for _, suffix := range append([]string{""}, suffixes...) {
		if _, err := os.Stat(path + suffix); err == nil {
			return path + suffix
		}
	}
	return path
}

func (o *override) spec() source.Spec {
	return source.Spec{Path: step.Text(o.Path), URL: step.Text(o.URL), Slug: step.Text(o.Slug), MD5: step.Text(o.MD5), SHA256: step.Text(o.SHA256)}
}

// adoptable reports whether the reference's folder has the data that the block would
// fetch from Kaggle.
func (o *override) adoptable(folder, competition string) bool {
	return folder != "" && o.Kind == "kaggle" && o.As == nil && source.IsAdoptable(filepath.Join(folder, competition))
}

func (d *download) add(deps Deps, kind string, spec source.Spec, as string) error {
	src, err := deps.Sources.Get(kind)
	if err != nil {
		return err
	}
	if err := src.Check(spec); err != nil {
		return err
	}
	if kind == "reference" && competitions.IsRehearsal(spec.Path) {
		return fmt.Errorf("%s has the data of a rehearsal; write data = %q instead", spec.Path, conditions.Rehearsal)
	}
	d.items = append(d.items, item{src, spec, as, kind})
	return nil
}

// Conditions implements step.Conditioned.
func (d *download) Conditions() []string {
	if !d.rehearsal {
		return nil
	}
	return []string{conditions.Data + "=" + conditions.Rehearsal}
}

// Fingerprint implements step.Fingerprinter.
func (d *download) Fingerprint(h *digest.Hasher) error {
	h.String("unpacked archives", strings.Join(d.unpacked, "\n"))
	for _, it := range d.items {
		h.String("source as", it.as)
		if it.as == "" {
			// The name decides where a file that is not an archive is placed.
			h.String("source name", it.name())
		}
		if err := it.source.Fingerprint(it.spec, h); err != nil {
			return err
		}
	}
	return nil
}

// name returns the expected name of the fetched file.
func (it item) name() string {
	if u, err := url.Parse(it.spec.URL); err == nil && it.spec.URL != "" {
		return path.Base(u.Path)
	}
	return path.Base(it.spec.Path + it.spec.Slug)
}

// Run implements step.Step.
func (d *download) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if len(d.items) == 0 {
		return nil, d.def.Rehearsable()
	}
	ref, files, err := d.assemble(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", d.competition, err)
	}
	out := cache.Outputs{"tree": {Ref: ref}}
	return out, out.Encode(map[string]any{"files": files})
}

// assemble fetches all items, and returns their tree and the files that were fetched.
func (d *download) assemble(ctx context.Context, env *step.Env) (ref cache.Ref, files []file, err error) {
	a := &assembly{env: env, b: tree.NewBuilder(env.Store), unpacked: d.unpacked}
	defer func() {
		for _, left := range a.done { // journals that were not dropped stay
			_ = left.Close()
		}
	}()
	files = []file{}
	for _, it := range d.items {
		// Two items with the same source would wait for each other's ingest, so one
		// item's journals are released before the next.
		if err := a.finish(); err != nil {
			return ref, nil, err
		}
		data, err := it.fetch(ctx, env)
		if err != nil {
			return ref, nil, classify(err)
		}
		if data.Ref.Kind == cache.Blob {
			files = append(files, file{data.Name, data.Ref.ID.String(), data.MD5, data.Ref.Size})
		}
		if err := a.place(ctx, it, data); err != nil {
			return ref, nil, err
		}
	}
	if ref, err = a.b.Build(ctx, env.Store); err == nil {
		err = a.finish()
	}
	return ref, files, err
}

// classify converts a source's error to the engine's classes of errors.
func classify(err error) error {
	var temporary *source.TemporaryError
	switch {
	case errors.Is(err, source.ErrMismatch):
		return step.Mismatch(err)
	case errors.As(err, &temporary):
		return step.Retryable(err, temporary.After)
	}
	return err
}

func (it item) fetch(ctx context.Context, env *step.Env) (source.Data, error) {
	if it.spec.URL != "" && it.spec.MD5 == "" && it.spec.SHA256 == "" {
		env.Warn("the download has no pin, so nothing proves that it is unchanged")
	}
	var bytes, all atomic.Int64
	return it.source.Fetch(ctx, source.Request{
		Spec: it.spec, Store: env.Store, Unpublished: true,
		Waiting: func(until time.Time) {
			what := "waiting until " + until.Format(time.TimeOnly) + ", as the server asks"
			env.Progress(step.Progress{What: what, Done: bytes.Load(), Total: all.Load(), Unit: "bytes"})
		},
		Progress: func(done, total int64) {
			bytes.Store(done)
			all.Store(total)
			env.Progress(step.Progress{What: "fetching", Done: done, Total: total, Unit: "bytes"})
		},
		Imported: func(files, total, bytes int64) {
			env.Progress(step.Progress{What: "importing", Done: files, Total: total, Unit: "files", Bytes: bytes})
		},
		Log: func(format string, args ...any) { fmt.Fprintf(env.Log, format+"\n", args...) },
	})
}
