package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/engine/step"
)

// Damage means that a bundle has changed since it was written.
type Damage struct {
	// Where names the file in the bundle, or the part of its frame.
	Where string
	Err   error
}

// Error implements error.
func (d *Damage) Error() string { return fmt.Sprintf("%s: %v", d.Where, d.Err) }

// Unwrap returns the cause.
func (d *Damage) Unwrap() error { return d.Err }

// Is reports that it is a mismatch.
func (d *Damage) Is(err error) bool { return err == step.ErrMismatch }

// Begins reports whether a file begins as a bundle does: as a tar.
func Begins(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	const magic = "ustar"
	head := make([]byte, len(magic))
	if _, err := f.ReadAt(head, 257); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return string(head) == magic, nil
}

func damage(where, format string, args ...any) error {
	return &Damage{where, fmt.Errorf(format, args...)}
}

// damaged is an error about a file as a Damage.
func damaged(where string, err error) error {
	if err == nil {
		return nil
	}
	return &Damage{where, err}
}

// span is the place of an entry's bytes.
type span struct{ offset, size int64 }

// Bundle is a bundle whose every byte was checked.
type Bundle struct {
	// Run is the id of the run.
	Run string
	// Manifest is the digest of the manifest, which stands for the bundle.
	Manifest digest.ContentID
	// Files are sorted by path.
	Files []File

	f       *os.File
	size    int64
	blobs   map[digest.ContentID]span
	byPath  map[string]File
	listing []byte
	// records are those that were read already.
	records []record
	work    *progress.Work // counts what sum reads
}

// Open checks every byte of the bundle at path. A fault of the bundle itself is a Damage.
// Work, if set, counts the bytes read.
func Open(ctx context.Context, path string, work *progress.Work) (*Bundle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	b := &Bundle{f: f, work: work, blobs: map[digest.ContentID]span{}, byPath: map[string]File{}}
	if err := b.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("check bundle %s: %w", path, err), f.Close())
	}
	return b, nil
}

// Close closes the file.
func (b *Bundle) Close() error { return b.f.Close() }

func (b *Bundle) check(ctx context.Context) error {
	info, err := b.f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return damage("the file", "it is not a regular file")
	}
	b.size = info.Size()
	fixed, err := b.walk(ctx, b.size)
	if err != nil {
		return err
	}
	if err := b.readFrame(fixed); err != nil {
		return err
	}
	return b.checkBlobs(ctx)
}

// order lists the first entries of a bundle.
var order = []string{layoutFile, indexFile, readmeFile}

// walk reads the headers, and the spaces between entries.
func (b *Bundle) walk(ctx context.Context, size int64) (fixed map[string]span, err error) {
	fixed = map[string]span{}
	last := ""
	var at int64
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		where, wanted := fmt.Sprintf("the header of entry %d", n+1), ""
		var head [block]byte
		if _, err := b.f.ReadAt(head[:], at); err != nil {
			return nil, b.cut(where, err)
		}
		switch {
		case head == [block]byte{}:
			return fixed, b.checkEnd(at, size, n)
		case n < len(order):
			wanted = order[n]
		case n >= maxEntries+len(order):
			return nil, damage("the file", "it has more than %d entries", maxEntries)
		}
		name, s, err := readHeader(head[:], where, wanted, last)
		if err != nil {
			return nil, err
		}
		s.offset = at + block
		at = s.offset + s.size + padding(s.size)
		if at > size {
			return nil, damage(name, "the bundle ends within it")
		}
		if err := b.checkPadding(name, s); err != nil {
			return nil, err
		}
		if wanted != "" {
			fixed[name] = s
			continue
		}
		last, b.blobs[blobID(name)] = name, s
	}
}

// blobID returns the digest in the name of a blob; any that has another name if there is none.
func blobID(name string) digest.ContentID {
	id, _ := digest.ParseContentID(strings.TrimPrefix(name, blobFolder))
	return id
}

// readHeader reads a header, which must have its only form. Its name is that of the entry
// wanted or, if that is "", that of a blob, which must come after the one called last.
func readHeader(head []byte, where, wanted, last string) (string, span, error) {
	name := headerName(head)
	size, ok := headerSize(head)
	switch {
	case !ok:
		return "", span{}, damage(where, "it declares a size that no bundle can have")
	case wanted != "" && name != wanted:
		return "", span{}, damage(where, "it names %.90q instead of %s", name, wanted)
	case wanted != "":
	case name != blobFolder+blobID(name).String(): // digits in capitals would be a second name
		return "", span{}, damage(where, "it names %.90q, which is not a blob", name)
	case name <= last:
		return "", span{}, damage(where, "%s is not in its place", name)
	}
	only, err := header(name, size)
	if err != nil {
		return "", span{}, damage(where, "%w", err)
	}
	if at := differ(only, head); at >= 0 {
		return "", span{}, damage(fmt.Sprintf("%s (%s)", where, name), "mleflow would write byte %d differently", at)
	}
	return name, span{size: size}, nil
}

// differ returns the index at which two strings first differ, or -1.
func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

func (b *Bundle) cut(where string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damage(where, "the bundle ends within it")
	}
	return err
}

func (b *Bundle) checkPadding(name string, s span) error {
	zeros := make([]byte, padding(s.size))
	if _, err := b.f.ReadAt(zeros, s.offset+s.size); err != nil {
		return b.cut("the space after "+name, err)
	}
	if !bytes.Equal(zeros, make([]byte, len(zeros))) {
		return damage("the space after "+name, "it is not empty")
	}
	return nil
}

// checkEnd checks the two empty blocks at the end, and that they are the end.
func (b *Bundle) checkEnd(at, size int64, entries int) error {
	if entries < len(order) {
		return damage("the file", "%s is missing", order[entries])
	}
	if size != at+2*block {
		return damage("the end", "there are %d bytes instead of 1024 zero bytes", size-at)
	}
	var end [2 * block]byte
	if _, err := b.f.ReadAt(end[:], at); err != nil {
		return b.cut("the end", err)
	}
	if end != [2 * block]byte{} {
		return damage("the end", "it is not empty")
	}
	return nil
}

// section reads a span of at most limit bytes.
func (b *Bundle) section(where string, s span, limit int64) ([]byte, error) {
	if s.size > limit {
		return nil, damage(where, "it has %d bytes, which is too many", s.size)
	}
	text := make([]byte, s.size)
	if _, err := b.f.ReadAt(text, s.offset); err != nil && s.size > 0 {
		return nil, b.cut(where, err)
	}
	return text, nil
}

// blob reads a document of the frame.
func (b *Bundle) blob(where string, d descriptor, into any) ([]byte, error) {
	id, err := parseDigest(d.Digest)
	if err != nil {
		return nil, damage(where, "%w", err)
	}
	s, found := b.blobs[id]
	if !found || s.size != d.Size {
		return nil, damage(where, "there is no blob %s of %d bytes", id, d.Size)
	}
	text, err := b.section(where, s, maxManifest)
	switch {
	case err != nil:
		return nil, err
	case digest.Of(text) != id:
		return nil, damage(where, "its content does not match its digest")
	}
	return text, damaged(where, parse(text, into))
}

// readFrame follows the index to the manifest and the list of contents.
func (b *Bundle) readFrame(fixed map[string]span) error {
	layout, err := b.section(layoutFile, fixed[layoutFile], maxIndex)
	if err == nil && string(layout) != layoutText {
		err = damage(layoutFile, "mleflow would write it differently")
	}
	text, errIndex := b.section(indexFile, fixed[indexFile], maxIndex)
	var ix index
	if err := cmp.Or(err, errIndex, damaged(indexFile, parse(text, &ix))); err != nil {
		return err
	}
	if len(ix.Manifests) != 1 {
		return damage(indexFile, "it does not name one manifest")
	}
	var m manifest
	doc, err := b.blob("the manifest", ix.Manifests[0], &m)
	if err != nil {
		return err
	}
	b.Manifest = digest.Of(doc)
	var list contents
	if b.listing, err = b.blob("the list of contents", m.Config, &list); err != nil {
		return err
	}
	if list.Format != formatVersion {
		return damage("the list of contents", "the bundle has format %d, and this mleflow reads %d; check it with the version of mleflow that wrote it", list.Format, formatVersion)
	}
	b.Run = list.Run
	if err := b.readFiles(m.Layers); err != nil {
		return err
	}
	return b.checkFrame(text, doc, fixed[readmeFile])
}

// readFiles reads the layers of the manifest.
func (b *Bundle) readFiles(layers []descriptor) error {
	last := ""
	for _, l := range layers {
		path := l.Annotations[titleKey]
		if err := checkPath(path); err != nil {
			return damage("the manifest", "%w", err)
		}
		if path <= last {
			return damage("the manifest", "%.200q is not in its place", path)
		}
		last = path
		id, err := parseDigest(l.Digest)
		if err != nil {
			return damage(path, "%w", err)
		}
		f := File{Path: path, Digest: id, Size: l.Size}
		b.Files = append(b.Files, f)
		b.byPath[path] = f
	}
	return nil
}

// checkFrame makes the frame again from the files and compares.
func (b *Bundle) checkFrame(index, doc []byte, readme span) error {
	again, err := seal(b.Run, b.Files)
	if err != nil {
		return err
	}
	switch {
	case !bytes.Equal(again.contents, b.listing):
		return damage("the list of contents", "it does not list the files of the manifest")
	case !bytes.Equal(again.manifest, doc):
		return damage("the manifest", "mleflow would write it differently")
	case !bytes.Equal(again.index, index):
		return damage(indexFile, "mleflow would write it differently")
	}
	text, err := b.section(readmeFile, readme, maxIndex<<4)
	if err != nil {
		return err
	}
	if f, found := b.byPath[readmeFile]; !found || f.Digest != digest.Of(text) {
		return damage(readmeFile, "its content does not match its digest")
	}
	return nil
}

// checkBlobs reads every blob and checks that each is referenced.
func (b *Bundle) checkBlobs(ctx context.Context) error {
	used := map[digest.ContentID]bool{b.Manifest: true, digest.Of(b.listing): true}
	b.begin("reading", func(string) bool { return true })
	for _, f := range b.Files {
		s, found := b.blobs[f.Digest]
		switch {
		case !found:
			return damage(f.Path, "its blob %s is missing", f.Digest)
		case s.size != f.Size:
			return damage(f.Path, "it has %d bytes instead of %d", s.size, f.Size)
		case used[f.Digest]:
			continue
		}
		used[f.Digest] = true
		if id, err := b.sum(ctx, s); err != nil {
			return fmt.Errorf("read %s: %w", f.Path, err)
		} else if id != f.Digest {
			return damage(f.Path, "its content does not match its digest")
		}
		b.work.Add(1, 0)
	}
	for id := range b.blobs {
		if !used[id] {
			return damage(blobFolder+id.String(), "no file of the bundle refers to it")
		}
	}
	return nil
}

// begin begins a part of the work, which reads each content of some files once.
func (b *Bundle) begin(what string, of func(path string) bool) {
	var bytes int64
	seen := map[digest.ContentID]bool{}
	for _, f := range b.Files {
		if of(f.Path) && !seen[f.Digest] {
			seen[f.Digest] = true
			bytes += b.blobs[f.Digest].size
		}
	}
	b.work.Begin(what, int64(len(seen)), bytes)
}

// Read returns a file that mleflow wrote, of at most 256 MiB.
func (b *Bundle) Read(path string) ([]byte, error) {
	f, found := b.byPath[path]
	if !found {
		return nil, damage(path, "it is missing")
	}
	return b.section(path, b.blobs[f.Digest], maxFile)
}

// Has reports whether there is a file at path.
func (b *Bundle) Has(path string) bool { _, found := b.byPath[path]; return found }
