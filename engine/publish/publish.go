package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// Target is content and its destination.
type Target struct {
	// Path is absolute. Base, if set, is a folder that the path must not leave,
	// not even through a link.
	Path, Base string
	Ref        cache.Ref
	// Link makes read-only hard links into the cache instead of copies.
	Link bool
	// Private makes it readable only by the owner.
	Private bool
	// Work, if set, counts the files and bytes written.
	Work *progress.Work
}

// State compares a path with the content to be published there.
type State string

// The states of a path.
const (
	// New: the path is free or an empty folder.
	New State = "new"
	// Same: the path already has the content, no matter who wrote it, and others can
	// read it only if they may.
	Same State = "same"
	// Changed: the path has content that was published before, or the same in another
	// form, and is replaced.
	Changed State = "changed"
	// Foreign: the path has content that was not published, or was changed
	// since.
	Foreign State = "foreign"
)

// Places records the publications from one cache.
type Places struct {
	dir string
	// The others are set by tests. before is called before each change of a file; inSteps
	// exchanges content as file systems do that cannot do it at once; unsynced saves time.
	before            func() error
	inSteps, unsynced bool
}

// Open returns the Places recorded below the folder of a cache.
func Open(cacheDir string) *Places {
	return &Places{dir: filepath.Join(nolink.Folder(cacheDir), "published")}
}

// Look compares the path of t with its content. A zero Ref stands for unknown
// content, which is never the same.
func (p *Places) Look(ctx context.Context, t Target) (State, error) {
	if err := t.check(p.dir); err != nil {
		return "", err
	}
	rec, err := p.read(t.Path)
	if err != nil {
		return "", err
	}
	state, _, err := look(ctx, t, rec)
	return state, err
}

// Put writes content to its path unless it is already there. It returns the
// path's previous state. If the path is foreign, the error is a *ForeignError.
func (p *Places) Put(ctx context.Context, store cache.Files, t Target) (state State, err error) {
	if err := t.check(p.dir); err != nil {
		return "", err
	}
	unlock, err := p.lock(ctx, t.Path)
	if err != nil {
		return "", err
	}
	defer unlock()
	rec, err := p.read(t.Path)
	if err == nil {
		err = p.recover(ctx, t, rec.Written)
	}
	old := ""
	if err == nil {
		state, old, err = look(ctx, t, rec)
	}
	if err == nil {
		switch state {
		case Same:
		case Foreign:
			err = &ForeignError{Path: t.Path}
		default:
			err = p.write(ctx, store, t, rec, old)
		}
	}
	if foreign := (*ForeignError)(nil); errors.As(err, &foreign) {
		state = Foreign
	}
	return state, err
}

// write replaces the old content, if any. old is its digest.
func (p *Places) write(ctx context.Context, store cache.Files, t Target, rec record, old string) (err error) {
	part, dir := t.beside(unfinished), filepath.Dir(t.Path)
	defer func() { err = errors.Join(err, p.run(func() error { return tree.Remove(part) })) }()
	// Both digests are recorded before the move, so that mleflow recognizes the
	// content at the path after a crash.
	now := record{Path: t.Path, Private: t.Private, Link: t.Link, Written: []string{name(t.Ref)}}
	both := now
	if old != "" {
		both.Private = t.Private || rec.Private
		both.Written = append(both.Written, old)
	}
	return p.run(
		func() error { return os.MkdirAll(dir, 0o755) },
		func() error { return t.write(ctx, store, part) },
		func() error { return p.sync(syncContent, part) },
		func() error { return p.save(both) },
		func() error { return p.move(ctx, t, both.Written, old != "") },
		func() error { return p.sync(nolink.SyncDir, nolink.Folder(dir)) },
		func() error { return p.save(now) },
	)
}

func (p *Places) sync(how func(path string) error, path string) error {
	if p.unsynced {
		return nil
	}
	return how(path)
}

// syncContent writes a file or a tree to disk. A tree may have a million files, so all of
// its file system is written at once; a file does not wait for what others wrote there.
func syncContent(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return syncTree(f)
	}
	return f.Sync()
}

// write writes the content of t to a path.
func (t *Target) write(ctx context.Context, store cache.Files, path string) error {
	opts := tree.Options{Mode: tree.Copy, Writable: !t.Link, OwnerOnly: t.Private, Progress: tree.Count(t.Work)}
	if t.Link {
		opts.Mode = tree.Link
	}
	t.Work.Begin("writing", max(t.Ref.Files, 1), t.Ref.Size)
	_, err := tree.Write(ctx, store, t.Ref, path, opts)
	return err
}

// name returns a digest in the form in which it is recorded.
func name(ref cache.Ref) string { return string(ref.Kind) + ":" + ref.ID.String() }

// look compares the path of t with the content and the record. old is the
// digest of the content to be replaced.
func look(ctx context.Context, t Target, rec record) (state State, old string, err error) {
	have, err := identify(ctx, t.Path)
	switch {
	case errors.Is(err, errNothing):
		return New, "", nil
	case errors.Is(err, errStrange):
		return Foreign, "", nil
	case err != nil:
		return "", "", err
	case !t.Ref.IsZero() && have == name(t.Ref):
		if t.fits(rec) {
			return Same, "", nil
		}
		return Changed, have, nil
	case slices.Contains(rec.Written, have):
		return Changed, have, nil
	}
	return Foreign, "", nil
}

// fits reports whether content that is at the path already is as t wants it. What
// somebody else put there is, unless it must be private.
func (t *Target) fits(rec record) bool {
	if rec.Path == "" && !t.Private {
		return true
	}
	info, err := os.Lstat(t.Path)
	return err == nil && rec.Private == t.Private && rec.Link == t.Link && (!t.Private || info.Mode().Perm()&0o077 == 0)
}

var (
	errNothing = errors.New("nothing is there")
	errStrange = errors.New("it is neither a file nor a folder")
)

// identify returns the digest of the content at a path.
func identify(ctx context.Context, path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errNothing
	case errors.Is(err, syscall.ENOTDIR): // a file is where a folder should be
		return "", fmt.Errorf("a folder above %s is a file", path)
	case err != nil:
		return "", err
	case info.IsDir():
		list, err := os.ReadDir(path)
		if err == nil && len(list) == 0 {
			return "", errNothing
		}
		ref, err := tree.Import(ctx, cache.HashOnly{}, path, tree.ImportOptions{SkipSpecial: false})
		if errors.Is(err, tree.ErrSpecial) {
			return "", errStrange
		}
		return name(ref), err
	case !info.Mode().IsRegular():
		return "", errStrange
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	ref, err := cache.Put(ctx, cache.HashOnly{}, f, cache.Ref{})
	return name(ref), err
}

// check rejects a path that leads through a link out of its base, or into the
// cache.
func (t *Target) check(records string) error {
	real, err := resolve(t.Path)
	if err != nil {
		return err
	}
	home, err := resolve(filepath.Dir(records))
	if err != nil {
		return err
	}
	if checkout.Below(real, home) || checkout.Below(home, real) {
		return fmt.Errorf("%s is inside the cache or contains it; publish to another path", t.Path)
	}
	if t.Base == "" {
		return nil
	}
	base, err := resolve(t.Base)
	if err == nil && !checkout.Below(real, base) {
		err = fmt.Errorf("%s leads out of the pipeline's folder by a symbolic link; write an absolute path to publish there", t.Path)
	}
	return err
}

// resolve follows the links in the existing part of a path's folder.
func resolve(path string) (string, error) {
	dir, rest := filepath.Dir(path), filepath.Base(path)
	for {
		real, err := filepath.EvalSymlinks(dir)
		switch {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return "", err
		}
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a symbolic link to nothing", dir)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
	}
}

// sniffed is the number of bytes of a blob that are read to choose its suffix.
const sniffed = 1 << 20

// Suffix returns ".json" for a JSON document such as a report, ".jsonl" for
// JSON lines such as a journal, and "" for other content.
func Suffix(ctx context.Context, store cache.Store, ref cache.Ref) (string, error) {
	r, err := store.Open(ctx, ref.ID)
	if err != nil {
		return "", err
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, sniffed))
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch text := bytes.TrimSpace(head); {
	case len(text) == 0 || text[0] != '{' && text[0] != '[':
		return "", nil
	case json.Valid(text):
		return ".json", nil
	case json.Valid(line):
		return ".jsonl", nil
	}
	return "", nil
}

// JSON formats a small value for a file.
func JSON(value []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := json.Indent(&text, value, "", "  "); err != nil {
		return nil, err
	}
	return append(text.Bytes(), '\n'), nil
}
