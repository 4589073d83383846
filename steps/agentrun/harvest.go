package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

// caps are the limits for the harvest of one folder of an agent.
type caps struct {
	bytes   int64
	entries int
	depth   int
}

var (
	submissionCaps = caps{bytes: 8 << 30, entries: 200_000, depth: 32}
	keptCaps       = caps{bytes: 2 << 30, entries: 200_000, depth: 32}
)

// harvestTime limits the harvest of more than hurriedFiles files.
const (
	harvestTime  = time.Minute
	hurriedFiles = 10_000
)

// maxNotes is the maximum number of omitted things that are named; the others are
// counted.
const maxNotes = 20

// harvester copies files that an agent left into the store. It trusts nothing that it
// finds.
type harvester struct {
	store cache.Store
	mask  *secret.Set
	// budget is the number of bytes that may still be taken from all folders together.
	// Holes in files count as the zeros that are stored for them.
	budget int64
	// began is the start of the harvest, files the number of files taken.
	began time.Time
	files int
	// live means that the agent still runs, so nothing is changed. memo and details, for
	// a checkpoint, remember what was read and collect what a tree cannot hold.
	live    bool
	memo    *checkpoint.Memo
	details *checkpoint.Details
	// tries is how often a file is read that changes meanwhile. clone, if it is not nil,
	// clones large files, and later reads the clones.
	tries int
	clone func(*os.File) *os.File
	later []func(context.Context) error
	// notes name the omitted files, with reasons.
	notes []string
	more  int
	// taken is called with the size of each file taken.
	taken func(bytes int64)
}

// noteOthers names the files that an agent left in place of a submission.
func (h *harvester) noteOthers(files map[string]bool) {
	names := slices.Sorted(maps.Keys(files))
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		h.note("submission: it wrote %s; %s is expected", strings.Join(names, ", "), agent.SubmissionFile)
	}
}

// left returns the notes on omitted files.
func (h *harvester) left() []string {
	if h.more > 0 {
		return append(slices.Clip(h.notes), fmt.Sprintf("and %d more", h.more))
	}
	return h.notes
}

// folder is one folder being harvested.
type folder struct {
	*harvester
	kept
	root *os.Root
	b    *tree.Builder
	// below is put before the paths in the tree: the folder's name in a checkpoint.
	below string
	// has are the files and links that were taken.
	has map[string]bool
}

// kept is a folder of an agent's home to harvest.
type kept struct {
	name string
	// first is a file that is taken before any other, so that the caps cannot be used
	// up by others.
	first string
	// reserved is the name of a file of mleflow's, which the agent cannot write.
	reserved string
	caps     caps
}

// harvest adds the files of a folder to b and returns their paths.
func (h *harvester) harvest(ctx context.Context, home *os.Root, k kept, b *tree.Builder) (map[string]bool, error) {
	name := k.name
	k.caps.bytes = min(k.caps.bytes, h.budget)
	if h.began.IsZero() {
		h.began = time.Now()
	}
	f := &folder{harvester: h, kept: k, b: b, has: map[string]bool{}}
	if h.details != nil {
		f.below = name + "/"
	}
	defer func() { h.budget -= k.caps.bytes - f.caps.bytes }()
	info, err := home.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		h.note("%s: the folder was removed", name)
		return f.has, nil
	case err != nil:
		return nil, fmt.Errorf("harvest %s: %w", name, err)
	case !info.IsDir():
		h.note("%s: replaced by %s", name, nolink.Kind(info.Mode()))
		return f.has, nil
	}
	if !h.live {
		unlock(home, name, info)
	}
	if f.root, err = home.OpenRoot(name); err != nil {
		return nil, fmt.Errorf("harvest %s: %w", name, err)
	}
	defer f.root.Close()
	return f.has, f.walk(ctx, ".", 1)
}

func (f *folder) walk(ctx context.Context, dir string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := f.list(dir)
	if err != nil {
		return f.skip(dir, err)
	}
	for i, e := range entries {
		if f.full() {
			f.note("%s/%s: too many files, %d or more are left out", f.name, dir, len(entries)-i)
			return nil
		}
		path := e.Name()
		if dir != "." {
			path = dir + "/" + path
		}
		if err := f.entry(ctx, path, depth); err != nil {
			return err
		}
	}
	return nil
}

// full reports whether the harvest must stop. The time limit applies only beyond a
// number of files that no agent needs.
func (f *folder) full() bool {
	return f.caps.entries == 0 || f.memo == nil && f.files > hurriedFiles && time.Since(f.began) > harvestTime
}

// list returns the sorted entries of a folder; in the top folder, the file first comes
// first.
func (f *folder) list(dir string) ([]fs.DirEntry, error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(f.caps.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if dir == "." {
		if i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == f.first }); i > 0 {
			entries = slices.Concat(entries[i:i+1], entries[:i], entries[i+1:])
		}
	}
	return entries, nil
}

func (f *folder) entry(ctx context.Context, path string, depth int) error {
	if path == f.reserved && path != "" {
		return f.skip(path, "mleflow writes a file of this name")
	}
	look := f.root.Lstat
	if path == f.first {
		look = func(string) (fs.FileInfo, error) { return lookSubmission(f.root) }
	}
	info, err := look(path)
	if err != nil {
		return f.skip(path, err)
	}
	f.caps.entries--
	switch {
	case info.Mode().IsRegular():
		return f.file(ctx, path)
	case info.IsDir() && depth < f.caps.depth:
		if !f.live {
			unlock(f.root, path, info)
		}
		if err := f.b.AddDir(f.below + path); err != nil {
			return f.skip(path, err)
		}
		f.details.File(f.below+path, info)
		return f.walk(ctx, path, depth+1)
	case info.Mode()&fs.ModeSymlink != 0 && f.details != nil:
		f.link(path)
	case info.IsDir():
		f.note("%s/%s: too deep", f.name, path)
	default:
		f.note("%s/%s: %s", f.name, path, nolink.Kind(info.Mode()))
	}
	return nil
}

// skip notes why an entry is left out.
func (f *folder) skip(path string, why any) error {
	f.note("%s/%s: %v", f.name, path, why)
	return nil
}

// unlock gives the owner permission to read and remove a folder.
func unlock(root *os.Root, name string, info fs.FileInfo) {
	if info.Mode().Perm()&0o700 != 0o700 {
		_ = root.Chmod(name, info.Mode().Perm()|0o700)
	}
}

// file copies a file into the store. Opening neither follows a link nor blocks,
// whatever the path has become since it was examined.
func (f *folder) file(ctx context.Context, path string) error {
	src, err := f.open(path)
	if err != nil {
		return f.skip(path, err)
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return f.skip(path, "not a file")
	}
	if info.Size() > f.caps.bytes {
		f.note("%s/%s: %d bytes, more than the remaining %d", f.name, path, info.Size(), f.caps.bytes)
		return nil
	}
	if f.postponed(path, src, info) {
		return nil
	}
	ref, err := f.content(ctx, path, src, info)
	if err != nil {
		return fmt.Errorf("harvest %s/%s: %w", f.name, path, err)
	}
	f.caps.bytes -= ref.Size
	f.files++
	f.taken(ref.Size)
	if err := f.add(path, ref, info.Mode()&0o100 != 0); err != nil {
		return f.skip(path, err)
	}
	f.details.File(f.below+path, info)
	return nil
}

// postponed clones a large file that is not known, to be read later.
func (f *folder) postponed(path string, src *os.File, info fs.FileInfo) bool {
	if f.clone == nil || info.Size() < cloneBytes || len(f.later) == maxClones {
		return false
	}
	if _, known := f.memo.Find(f.below+path, info); known {
		return false
	}
	began, clone := time.Now(), f.clone(src)
	if clone == nil {
		return false
	}
	f.caps.bytes -= info.Size()
	f.details.File(f.below+path, info)
	f.later = append(f.later, func(ctx context.Context) error {
		defer clone.Close()
		ref, err := cache.Put(ctx, f.store, clone, cache.Ref{})
		if err != nil {
			return fmt.Errorf("harvest %s/%s: %w", f.name, path, err)
		}
		f.memo.Read(f.below+path, ref, info, info, began)
		if err := f.add(path, ref, info.Mode()&0o100 != 0); err != nil {
			f.note("%s/%s: %v", f.name, path, err)
		}
		return nil
	})
	return true
}

// content stores a file, unless a checkpoint has its content already. For a checkpoint,
// a file that changes while it is read is read again, a few times.
func (f *folder) content(ctx context.Context, path string, src *os.File, info fs.FileInfo) (ref cache.Ref, err error) {
	if f.memo == nil {
		return cache.Put(ctx, f.store, io.LimitReader(src, f.caps.bytes), cache.Ref{})
	}
	if ref, ok := f.memo.Find(f.below+path, info); ok {
		return ref, nil
	}
	for range f.tries {
		began := time.Now()
		if ref, err = cache.Put(ctx, f.store, io.NewSectionReader(src, 0, f.caps.bytes), cache.Ref{}); err != nil {
			return ref, err
		}
		after, err := src.Stat()
		if err != nil || f.memo.Read(f.below+path, ref, info, after, began) {
			return ref, err
		}
		info = after
	}
	return ref, nil
}

// link records a link, which is not followed.
func (f *folder) link(path string) {
	target, err := f.root.Readlink(path)
	if err != nil {
		f.note("%s/%s: %v", f.name, path, err)
		return
	}
	f.has[path] = true
	f.details.Link(f.below+path, target)
}

// note adds a note, with secrets masked.
func (h *harvester) note(format string, args ...any) {
	if len(h.notes) < maxNotes {
		h.notes = append(h.notes, h.mask.Mask(fmt.Sprintf(format, args...)))
	} else {
		h.more++
	}
}

func (f *folder) add(path string, ref cache.Ref, executable bool) error {
	if err := f.b.Add(f.below+path, ref, executable); err != nil {
		return err
	}
	f.has[path] = true
	return nil
}

func (f *folder) open(path string) (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	if path == f.first {
		flags &^= syscall.O_NOFOLLOW
	}
	src, err := f.root.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrPermission) && !f.live && f.root.Chmod(path, 0o600) == nil {
		return f.root.OpenFile(path, flags, 0)
	}
	return src, err
}

// Files of cloneBytes that have changed are cloned meanwhile, at most maxClones, and read
// when the agent goes on.
const cloneBytes, maxClones = 1 << 20, 256
