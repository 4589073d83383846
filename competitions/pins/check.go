package pins

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// The most files that a report holds, and of those the most that are explained.
const (
	maxReported  = 100
	maxExplained = 10
)

// Data is prepared data.
type Data struct{ folder folder }

// OnDisk returns the prepared data in a folder that holds public and private.
// Other files next to those two are left alone, and so is public/description.md
// where the definition pins a description of the reference: it is laid there
// after preparing, and is no output of it.
func OnDisk(prepared fs.FS, def *competitions.Definition) *Data {
	return &Data{&diskFolder{fs: prepared, described: described(def), known: map[string]tree.Entry{}}}
}

func described(def *competitions.Definition) bool { return def.Facts.Description.SHA256 != "" }

// Beside reports of a path below the public files on disk whether it is no output of
// preparing; see OnDisk.
func Beside(def *competitions.Definition) func(path string) bool {
	return func(path string) bool { return described(def) && path == descriptionFile }
}

// descriptionFile is the description of the reference.
const descriptionFile = "description.md"

// InStore returns the prepared data whose halves are trees of a store. It puts
// the folder of both into the store, whose ID is the manifest's digest.
func InStore(ctx context.Context, store cache.Files, public, private cache.Ref) (*Data, error) {
	entries := []tree.Entry{tree.NewEntry("private", private, false), tree.NewEntry("public", public, false)}
	for _, half := range entries {
		if !half.IsDir() {
			return nil, fmt.Errorf("the %s files are a single file, not a tree", half.Name)
		}
	}
	root, err := tree.Put(ctx, store, entries)
	return &Data{treeFolder{store, root}}, err
}

// Half is the tree of public or private, which it reads.
func (d *Data) Half(ctx context.Context, name string) (cache.Ref, error) {
	e, err := d.folder.identity(ctx, name)
	return e.Ref(), err
}

// Request selects the data to verify.
type Request struct {
	Definition *competitions.Definition
	Data       *Data
	// Expected is data known to be right, to explain differences with; nil
	// without any. It decides nothing.
	Expected func(context.Context) (*Data, error)
	// Store is a cache that may still hold the right bytes; nil without one.
	Store cache.Files
	// Work, if set, counts the files and bytes that are read.
	Work *progress.Work
}

// Run verifies prepared data. It returns an error if they could not be read.
func Run(ctx context.Context, r Request) (Report, error) {
	if err := r.Definition.LockMissing(); err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", r.Definition.ID, err)
	}
	v := &verification{Request: r, report: Report{Mismatches: []Mismatch{}}, seen: map[string]bool{}}
	for _, do := range []func(context.Context) error{v.prepare, v.pins, v.manifest, v.explain} {
		if err := do(ctx); err != nil {
			return v.report, fmt.Errorf("verify %s: %w", r.Definition.ID, err)
		}
	}
	switch {
	case len(v.report.Mismatches) > 0:
		v.report.Verdict = Differs
	case v.report.Pinned == 0:
		v.report.Verdict = Unpinned
	default:
		v.report.Verdict = Verified
	}
	return v.report, nil
}

// verification is a run of Run.
type verification struct {
	Request
	report Report
	// known is the content of the manifest file; nil without one.
	known *Manifest
	// best is what the data are compared with, once it was needed.
	best folder
	// seen are the paths in the report; named reports whether a comparison of all files
	// named one.
	seen  map[string]bool
	named bool
}

// prepare reads the manifest file and drops one of other data.
func (v *verification) prepare(context.Context) (err error) {
	v.known, err = ReadManifest(v.Definition)
	if err != nil {
		return err
	}
	if want := v.Definition.Checksums.Manifest; v.known != nil && v.known.Tree != want {
		v.known = nil
		v.report.Note = fmt.Sprintf("%s is not of the pinned digest and was not used; write both again with %s",
			v.Definition.ManifestName(), lockCommand(v.Definition))
	}
	return nil
}

// add puts a mismatch into the report, unless its path is there.
func (v *verification) add(m Mismatch) {
	v.named = true
	if v.seen[m.Path] {
		return
	}
	switch m.Problem {
	case Missing:
		v.report.Missing++
	case Unexpected:
		v.report.Unexpected++
	default:
		v.report.Wrong++
	}
	if len(v.report.Mismatches) < maxReported {
		v.seen[m.Path] = true
		v.report.Mismatches = append(v.report.Mismatches, m)
	}
}

// summed is a file's sum, of the kind of its pin, and its size.
type summed struct {
	sum     string
	size    int64
	missing bool
}

// pins compares the pinned files, several at once.
func (v *verification) pins(ctx context.Context) error {
	pins := v.Definition.Checksums.Pinned()
	paths := slices.Sorted(maps.Keys(pins))
	got := make([]summed, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	if len(paths) > 0 {
		v.Work.Begin("checking pinned files", int64(len(paths)), sizeOf(ctx, v.Data.folder, paths, v.Work))
	}
	for i, path := range paths {
		group.Go(func() (err error) {
			if got[i], err = sumOf(ctx, v.Data.folder, path, pins[path], v.Work); err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			v.Work.Add(1, 0)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var unknown []string
	for i, path := range paths {
		if pins[path] == competitions.ContentPin && !got[i].missing {
			unknown = append(unknown, path+" holds "+got[i].sum)
			continue
		}
		v.report.Pinned++
		v.pin(path, pins[path], got[i])
	}
	if len(unknown) > 0 {
		v.report.Note = strings.TrimPrefix(v.report.Note+"; not compared, since what they should hold is not pinned yet: "+strings.Join(unknown, ", "), "; ")
	}
	v.named = false
	return nil
}

// sizeOf returns the size of those files that are there, for the work.
func sizeOf(ctx context.Context, f folder, paths []string, work *progress.Work) (sum int64) {
	for _, path := range paths {
		if work == nil || ctx.Err() != nil {
			break
		}
		file, err := f.open(path)(ctx)
		if err != nil {
			continue // reading it says so
		}
		if info, err := file.Stat(); err == nil && !info.IsDir() {
			sum += info.Size()
		}
		_ = file.Close()
	}
	return sum
}

// pin notes the result of one pin.
func (v *verification) pin(path, want string, got summed) {
	if got.sum == want {
		v.report.Matched++
		return
	}
	m := Mismatch{Path: path, Problem: Wrong, Want: want, Got: got.sum, WantBytes: -1, GotBytes: got.size}
	if v.known != nil {
		if s, ok := v.known.Files[path]; ok {
			m.WantBytes = s.Size
		}
	}
	if got.missing {
		m.Problem, m.GotBytes = Missing, -1
	}
	v.add(m)
}

// sumOf returns the sum of a file that can be compared with a pin. MD5, with which the
// reference pins files, guards against differences, not against forgery.
func sumOf(ctx context.Context, f folder, path, pin string, work *progress.Work) (summed, error) {
	file, err := f.open(path)(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return summed{missing: true}, nil
	}
	if err != nil {
		return summed{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.IsDir() {
		return summed{missing: true}, err
	}
	if strings.HasPrefix(pin, competitions.ContentPin) {
		s, err := contentOf(ctx, file)
		work.Add(0, s.size)
		return s, err
	}
	sum := md5.New()
	n, err := cache.Copy(ctx, sum, work.Reader(file))
	return summed{sum: hex.EncodeToString(sum.Sum(nil)), size: n}, err
}

// String names the kind of the sum.
func (s summed) String() string {
	if len(s.sum) == 32 {
		return "MD5 " + s.sum
	}
	return s.sum
}

// unreadable is the sum of a file that is no Parquet file.
const unreadable = competitions.ContentPin + "unreadable"

// contentOf returns the digest of a Parquet file's content.
func contentOf(ctx context.Context, file fs.File) (summed, error) {
	src, drop, err := archive.SourceOf(file, "")
	if err != nil {
		return summed{}, err
	}
	defer func() { _ = drop() }()
	sum, err := table.ParquetContent(ctx, src, src.Size)
	switch {
	case ctx.Err() != nil:
		return summed{}, ctx.Err()
	case err != nil:
		return summed{sum: unreadable, size: src.Size}, nil
	}
	return summed{sum: competitions.ContentPin + sum, size: src.Size}, nil
}

// parquet describes the content of a Parquet file whose bytes are not the pinned ones.
func (v *verification) parquet(ctx context.Context, m *Mismatch) string {
	got, err := sumOf(ctx, v.Data.folder, m.Path, competitions.ContentPin, nil)
	switch {
	case err != nil || got.missing:
		return ""
	case got.sum == unreadable:
		return "it cannot be read as Parquet"
	case len(m.Want) == 32:
		return fmt.Sprintf("it holds %s; the bytes of a Parquet file depend on the library that writes it and its version, what it holds does not", got.sum)
	}
	return "it holds another table"
}
