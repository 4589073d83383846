package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mleflow/mleflow/cache"
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
	// Same: the path already has the content, no matter who wrote it.
	Same State = "same"
	// Changed: the path has content that was published before and is replaced.
	Changed State = "changed"
	// Foreign: the path has content that was not published, or was changed
	// since.
	Foreign State = "foreign"
)

// ForeignError means that a path has content that mleflow did not write.
type ForeignError struct{ Path string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s exists and is not what mleflow last published: something else wrote or changed it, so it is not replaced. Move it, remove it, or publish to another path", e.Path)
}

// Places records the publications from one cache.
type Places struct{ dir string }

// Open returns the Places recorded below the folder of a cache.
func Open(cacheDir string) *Places {
	return &Places{filepath.Join(nolink.Folder(cacheDir), "published")}
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
	if state, err = p.Look(ctx, t); err != nil || state == Same {
		return state, err
	}
	unlock, err := p.lock(ctx, t.Path)
	if err != nil {
		return "", err
	}
	defer unlock()
	rec, err := p.read(t.Path)
	if err != nil {
		return "", err
	}
	state, old, err := look(ctx, t, rec)
	switch {
	case err != nil || state == Same:
		return state, err
	case state == Foreign:
		return state, &ForeignError{t.Path}
	}
	return state, p.write(ctx, store, t, old)
}

// write replaces the old content, if any. old is its digest.
func (p *Places) write(ctx context.Context, store cache.Files, t Target, old string) (err error) {
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o755); err != nil {
		return err
	}
	stage := filepath.Join(filepath.Dir(t.Path), "."+filepath.Base(t.Path)+".mleflow")
	if err := tree.Remove(stage); err != nil { // left by a killed process
		return err
	}
	if err := os.Mkdir(stage, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Remove(stage)) }()
	made := filepath.Join(stage, "new")
	opts := tree.Options{Mode: tree.Copy, Writable: true}
	if t.Link {
		opts = tree.Options{Mode: tree.Link}
	}
	opts.Progress = tree.Count(t.Work)
	t.Work.Begin("writing", max(t.Ref.Files, 1), t.Ref.Size)
	if _, err := tree.Materialise(ctx, store, t.Ref, made, opts); err != nil {
		return err
	}
	// Both digests are recorded before the move, so that mleflow recognizes the
	// content at the path after a crash.
	rec := record{Path: t.Path, Private: t.Private, Written: []string{name(t.Ref)}}
	if old != "" {
		rec.Written = append(rec.Written, old)
	}
	if err := p.save(rec); err != nil {
		return err
	}
	if err := place(made, t, stage, old != ""); err != nil {
		return err
	}
	rec.Written = rec.Written[:1]
	return p.save(rec)
}

// place moves the finished content to its path.
func place(made string, t Target, stage string, replace bool) error {
	mode, err := movable(made)
	if err != nil {
		return err
	}
	if replace {
		if _, err := movable(t.Path); err != nil {
			return err
		}
		err = exchange(made, t.Path, filepath.Join(stage, "old"))
	} else {
		err = moveNew(made, t.Path)
	}
	if err != nil {
		return err
	}
	switch {
	case t.Private && t.Ref.Kind == cache.Tree:
		mode &^= 0o077
	case t.Private && !t.Link: // the mode of a link is the cache's own
		mode &^= 0o077
	case t.Ref.Kind != cache.Tree:
		return nil
	}
	return os.Chmod(t.Path, mode)
}

// movable makes a read-only folder movable. It returns the previous mode.
func movable(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	if mode := info.Mode().Perm(); !info.IsDir() || mode&0o200 != 0 {
		return mode, nil
	} else {
		return mode, os.Chmod(path, mode|0o200)
	}
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
		return Same, "", nil
	case slices.Contains(rec.Written, have):
		return Changed, have, nil
	}
	return Foreign, "", nil
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
	if below(real, home) || below(home, real) {
		return fmt.Errorf("%s is inside the cache or contains it; publish to another path", t.Path)
	}
	if t.Base == "" {
		return nil
	}
	base, err := resolve(t.Base)
	if err == nil && !below(real, base) {
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

func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && !strings.HasPrefix(rel+string(filepath.Separator), ".."+string(filepath.Separator))
}
