package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
)

// hashedBytes is the size up to which an unpinned file or folder is
// fingerprinted by its content. Above it, sizes and modification times are
// used, so that plan stays fast.
const hashedBytes = 64 << 20

// found is a file, or a folder with its content, sorted by name.
type found struct {
	path  string
	info  fs.FileInfo // nil for a folder
	below []found
}

// list lists everything below the place, folders in parallel.
func (p *location) list() ([]found, error) {
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	info, err := fs.Stat(p.fsys, p.name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return []found{{path: p.name, info: info}}, nil
	}
	var root []found
	err = p.listDir(&group, p.name, &root)
	if err := errors.Join(err, group.Wait()); err != nil {
		return nil, err
	}
	return flat(nil, root), nil
}

func (p *location) listDir(group *errgroup.Group, name string, into *[]found) error {
	list, err := fs.ReadDir(p.fsys, name)
	if err != nil {
		return err
	}
	*into = make([]found, len(list))
	for i, d := range list {
		e := &(*into)[i]
		e.path = path.Join(name, d.Name())
		if !d.IsDir() {
			if e.info, err = d.Info(); err != nil {
				return err
			}
			continue
		}
		below := func() error { return p.listDir(group, e.path, &e.below) }
		if !group.TryGo(below) {
			if err := below(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flat appends the files in the order of a walk.
func flat(files, entries []found) []found {
	for _, e := range entries {
		if e.info == nil {
			files = flat(files, e.below)
		} else {
			files = append(files, e)
		}
	}
	return files
}

// fingerprint is a digest of everything below the place. If a folder memo is
// given, digests of content are remembered there by the files' sizes and times.
func (p *location) fingerprint(memo string) (sum digest.ContentID, small bool, err error) {
	started := time.Now()
	files, err := p.list()
	if err != nil {
		return sum, false, err
	}
	small = lists.Sum(files, func(f found) int64 { return f.info.Size() }) <= hashedBytes
	known := newRecollection(memo, p, files, started)
	if small {
		if sum, ok := known.recall(); ok {
			return sum, small, nil
		}
	}
	h := digest.NewHasher("file source", "1")
	for _, f := range files {
		h.String("file", strings.TrimPrefix(f.path, p.name))
		if !small || !f.info.Mode().IsRegular() {
			h.Int("size", f.info.Size())
			h.Int("changed", f.info.ModTime().UnixNano())
			continue
		}
		id, err := p.content(f.path)
		if err != nil {
			return sum, small, err
		}
		h.Content("content", id)
	}
	sum = digest.ContentID(h.Sum())
	if small {
		known.note(sum)
	}
	return sum, small, nil
}

func (p *location) content(name string) (digest.ContentID, error) {
	f, err := p.fsys.Open(name)
	if err != nil {
		return digest.ContentID{}, err
	}
	defer f.Close()
	id, _, err := digest.Copy(io.Discard, f)
	return id, err
}

// recollection is the memory of a place: the fingerprint of its
// content, and the stat of every file when it was read. Programs cannot set the
// status change time, so files with the same stat are the same, unless one was
// changed in the same clock tick in which it was read. So, as in Git's index,
// nothing is remembered about a place in which a file had changed less than
// racy before.
type recollection struct {
	file, signature string
}

const racy = 2 * time.Second

// newRecollection returns the recollection of a place, or nil if nothing can be
// kept.
func newRecollection(dir string, p *location, files []found, started time.Time) *recollection {
	if dir == "" || p.dir == "" {
		return nil
	}
	h := digest.NewHasher("file source stat", "1")
	for _, f := range files {
		s, ok := statOf(f.info)
		if !ok || started.Sub(s.changed) < racy || started.Sub(f.info.ModTime()) < racy {
			return nil
		}
		h.String("file", strings.TrimPrefix(f.path, p.name))
		h.Int("mode", int64(f.info.Mode()))
		h.Int("size", f.info.Size())
		h.Int("modified", f.info.ModTime().UnixNano())
		h.Int("changed", s.changed.UnixNano())
		h.Int("device", s.device)
		h.Int("inode", s.inode)
	}
	at := digest.Of([]byte(filepath.Join(p.dir, p.name)))
	return &recollection{filepath.Join(dir, at.String()), digest.ContentID(h.Sum()).String()}
}

// recall returns the fingerprint if nothing has changed.
func (m *recollection) recall() (sum digest.ContentID, ok bool) {
	if m == nil {
		return sum, false
	}
	text, err := os.ReadFile(m.file)
	signature, rest, _ := strings.Cut(string(text), " ")
	if err != nil || signature != m.signature {
		return sum, false
	}
	sum, err = digest.ParseContentID(strings.TrimSpace(rest))
	return sum, err == nil
}

// note remembers a fingerprint. Errors are ignored; it can be computed again.
func (m *recollection) note(sum digest.ContentID) {
	if m == nil || os.MkdirAll(filepath.Dir(m.file), 0o777) != nil {
		return
	}
	_ = wholefile.Replace(m.file, wholefile.Bytes([]byte(m.signature+" "+sum.String()+"\n")))
}

// stat identifies the version of a file that was read.
type stat struct {
	changed       time.Time
	device, inode int64
}
