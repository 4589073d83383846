package tree

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/spill"
)

// Builder assembles a tree from content that is already in the store, for steps
// that stream files straight into it. The zero value is an empty tree.
//
// It uses a limited amount of memory, however many files are added and however
// they are spread over folders. Entries beyond the limit are sorted and written
// to files without a name, which disappear with the Builder or the process. It
// is not safe for concurrent use.
type Builder struct {
	// Work provides the folder for entries that exceed the memory; nil means the
	// system's folder of temporary files.
	Work cache.Workspace
	// Memory is the number of bytes to hold before they are written out; 0 means 32
	// MiB.
	Memory int

	sorted     spill.Sorter
	key, value []byte // of the last entry
}

// NewBuilder returns a Builder that writes entries beyond its memory to a work
// folder.
func NewBuilder(work cache.Workspace) *Builder { return &Builder{Work: work} }

const builderMemory = 32 << 20

// marker is the type of an entry that only says that a folder exists.
const marker Type = '.'

// Add puts an object at a slash-separated path: a blob as a file, a tree as a
// folder with everything below it. Missing folders are created. A path that is
// already taken may only be reported by Build.
func (b *Builder) Add(path string, ref cache.Ref, executable bool) error {
	name, err := split(path)
	if err != nil {
		return err
	}
	e := NewEntry(name, ref, executable)
	if err := e.check(); err != nil {
		return fmt.Errorf("add %q to tree: %w", path, err)
	}
	return b.add(path, e)
}

// AddDir creates a folder, which may stay empty. If it exists already, that is
// fine.
func (b *Builder) AddDir(path string) error {
	if _, err := split(path); err != nil {
		return err
	}
	return b.add(path+"/", Entry{Type: marker})
}

// split rejects a path that is not clean and relative, and returns its last
// element.
func split(path string) (name string, err error) {
	for part := range strings.SplitSeq(path, "/") {
		if err := CheckName(part); err != nil {
			return "", fmt.Errorf("add %q to tree: %w", path, err)
		}
	}
	return path[strings.LastIndexByte(path, '/')+1:], nil
}

// add keeps an entry for Build. Its key is the path with zero bytes for slashes,
// so that the order of the bytes is the order of the entries, folder by folder.
// The key of a marker ends with a zero byte, before everything in the folder.
//
// The value is the type, size and number of files as varints, and the digest;
// that of a marker is its type.
func (b *Builder) add(path string, e Entry) error {
	if b.sorted.Temp == nil {
		b.sorted = spill.Sorter{Memory: cmp.Or(b.Memory, builderMemory), Temp: b.temp}
	}
	b.key = append(b.key[:0], path...)
	for i, c := range b.key {
		if c == '/' {
			b.key[i] = 0
		}
	}
	b.value = append(b.value[:0], byte(e.Type))
	if e.Type != marker {
		b.value = binary.AppendUvarint(b.value, uint64(e.Size))
		b.value = binary.AppendUvarint(b.value, uint64(e.Files))
		b.value = append(b.value, e.ID[:]...)
	}
	if err := b.sorted.Add(b.key, b.value); err != nil {
		return fmt.Errorf("write entries of a tree to a temporary file: %w", err)
	}
	return nil
}

func (b *Builder) temp() (*os.File, error) {
	if b.Work == nil {
		return spill.File("")
	}
	dir, err := b.Work.TempDir("tree")
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir) // empty, since the file loses its name
	return spill.File(dir)
}

// Build stores the directories and returns the tree. A path that was added
// twice, or both as file and as folder, is an error that wraps ErrInvalid.
// Afterwards the Builder is empty.
func (b *Builder) Build(ctx context.Context, store cache.Store) (cache.Ref, error) {
	ref, err := assemble(ctx, store, &b.sorted)
	b.sorted.Close()
	*b = Builder{Work: b.Work, Memory: b.Memory}
	return ref, err
}

// assembler builds directories from sorted entries. It holds only the
// directories from the root to the latest entry.
type assembler struct {
	ctx   context.Context // of one Build
	store cache.Store
	// open are the directories that are not complete, starting at the root. path
	// is the key of the last of them, and ends with a zero byte.
	open []*dirWriter
	path []byte
}

func assemble(ctx context.Context, store cache.Store, sorted *spill.Sorter) (cache.Ref, error) {
	a := &assembler{ctx: ctx, store: store, open: []*dirWriter{{}}}
	defer a.close()
	if err := sorted.Each(a.add); err != nil {
		return cache.Ref{}, fmt.Errorf("build tree: %w", err)
	}
	for len(a.open) > 1 {
		if err := a.pop(); err != nil {
			return cache.Ref{}, fmt.Errorf("build tree: %w", err)
		}
	}
	return a.open[0].finish(ctx, store)
}

func (a *assembler) add(key, value []byte) error {
	cut := bytes.LastIndexByte(key, 0) + 1
	dir, name := key[:cut], key[cut:]
	for !bytes.HasPrefix(dir, a.path) {
		if err := a.pop(); err != nil {
			return err
		}
	}
	for rest := dir[len(a.path):]; len(rest) > 0; {
		end := bytes.IndexByte(rest, 0)
		a.open = append(a.open, &dirWriter{name: string(rest[:end])})
		a.path = append(a.path, rest[:end+1]...)
		rest = rest[end+1:]
	}
	if Type(value[0]) == marker {
		return nil
	}
	size, n := binary.Uvarint(value[1:])
	files, m := binary.Uvarint(value[1+n:])
	id := digest.ContentID(value[1+n+m:])
	return a.put(Entry{Name: string(name), Type: Type(value[0]), Size: int64(size), Files: int64(files), ID: id})
}

// put adds an entry to the last directory.
func (a *assembler) put(e Entry) error {
	d := a.open[len(a.open)-1]
	if d.n > 0 && d.last == e.Name {
		path := bytes.ReplaceAll(a.path, []byte{0}, []byte("/"))
		return fmt.Errorf("%w: %q occurs twice", ErrInvalid, string(path)+e.Name)
	}
	return d.add(a.ctx, a.store, e)
}

// pop completes the last directory and adds it to the one above.
func (a *assembler) pop() error {
	d := a.open[len(a.open)-1]
	ref, err := d.finish(a.ctx, a.store)
	if err != nil {
		return err
	}
	a.open = a.open[:len(a.open)-1]
	a.path = a.path[:len(a.path)-len(d.name)-1]
	return a.put(NewEntry(d.name, ref, false))
}

func (a *assembler) close() {
	for _, d := range a.open {
		d.close()
	}
}

// heldEntries is the number of entries of a directory that are held before they are
// written to the store. There is such a list for every level of the path.
const heldEntries = 256

// dirWriter writes one directory, whose entries arrive in order.
type dirWriter struct {
	name string
	n    int64
	last string
	held []Entry
	in   cache.Ingest
	enc  *Encoder
}

func (d *dirWriter) add(ctx context.Context, store cache.Store, e Entry) error {
	d.n++
	d.last = e.Name
	d.held = append(d.held, e)
	if len(d.held) < heldEntries {
		return nil
	}
	return d.write(ctx, store)
}

// write encodes the held entries.
func (d *dirWriter) write(ctx context.Context, store cache.Store) (err error) {
	if d.in == nil {
		if d.in, err = store.Ingest(ctx, ""); err != nil {
			return err
		}
		d.enc = NewEncoder(d.in)
	}
	if err := lists.Each(d.held, d.enc.Write); err != nil {
		return fmt.Errorf("store tree: %w", err)
	}
	d.held = d.held[:0]
	return nil
}

// finish stores the directory.
func (d *dirWriter) finish(ctx context.Context, store cache.Store) (cache.Ref, error) {
	if err := ctx.Err(); err != nil {
		return cache.Ref{}, err
	}
	if err := d.write(ctx, store); err != nil {
		return cache.Ref{}, err
	}
	ref, err := d.enc.Finish()
	if err == nil {
		_, err = d.in.Commit(ctx, cache.Ref{Kind: cache.Blob, ID: ref.ID})
	}
	if err != nil {
		return cache.Ref{}, fmt.Errorf("store tree: %w", err)
	}
	d.in = nil
	return ref, nil
}

func (d *dirWriter) close() {
	if d.in != nil {
		_ = d.in.Close() // it was not committed
	}
}
